declare const isFilter: unique symbol;

/** A condition on the rows of a table, as SQL. Only this module makes filters, so that no value can act as SQL. */
export type Filter = string & { readonly [isFilter]: true };

type FilterValue = string | number;

const never = filter("false");

/** Rows whose column equals the value. `column` is a name in the code, never a value. */
export function equals(column: string, value: FilterValue): Filter {
  return filter(`${name(column)} = ${literal(value)}`);
}

export function oneOf(column: string, values: Iterable<FilterValue>): Filter {
  const literals = Array.from(values, literal);
  return literals.length === 0 ? never : filter(`${name(column)} IN (${literals.join(", ")})`);
}

export function atLeast(column: string, value: number): Filter {
  return filter(`${name(column)} >= ${literal(value)}`);
}

export function holds(column: string, text: string): Filter {
  return filter(`contains(${name(column)}, ${literal(text)})`);
}

export function allOf(...filters: readonly Filter[]): Filter {
  return filters.length === 0 ? filter("true") : filter(filters.map((part) => `(${part})`).join(" AND "));
}

export function anyOf(...filters: readonly Filter[]): Filter {
  return filters.length === 0 ? never : filter(filters.map((part) => `(${part})`).join(" OR "));
}

export function not(other: Filter): Filter {
  return filter(`NOT (${other})`);
}

/** A number or a string of SQL. In a string only the single quote is special; doubled, it is literal. */
function literal(value: FilterValue): string {
  if (typeof value === "string") return `'${toStored(value).replaceAll("'", "''")}'`;
  if (!Number.isFinite(value)) throw new RangeError(`${value} is not a number that a column can have`);
  return String(value);
}

function name(column: string): string {
  if (!/^[a-z][a-z_]*$/.test(column)) throw new RangeError(`"${column}" is not the name of a column`);
  return column;
}

function filter(sql: string): Filter {
  return sql as Filter;
}

const byteOrderMark = "\u{feff}";

/** Replaces lone surrogates, and doubles a leading byte order mark, since reading removes one. */
export function toStored(text: string): string {
  const whole = text.toWellFormed();
  return whole.startsWith(byteOrderMark) ? byteOrderMark + whole : whole;
}
