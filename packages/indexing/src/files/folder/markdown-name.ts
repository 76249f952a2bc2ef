/** The endings of Markdown files, in lower case. */
export const markdownEndings: readonly string[] = [".md", ".markdown", ".mdx"];

export function isMarkdown(name: string): boolean {
  const lower = name.toLowerCase();
  return markdownEndings.some((ending) => lower.endsWith(ending));
}
