/** Entries of a character and those that it becomes, separated by a space; between entries stands `|`. */
declare module "opencc-js/dict/*" {
  const table: string;
  export default table;
}
