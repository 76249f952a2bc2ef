declare const isFilter: unique symbol;

/** A condition on the rows of a table, as SQL. Only this module makes one, so that no value is ever taken for SQL. */
export type Filter = string & { readonly [isFilter]: true };

/** What a column may be compared with. */
export type FilterValue = string | number;

const never = filter("false");

/** Rows whose column holds this value. `column` is a name of our own tables, never a value. */
export function equals(column: string, value: FilterValue): Filter {
  return filter(`${name(column)} = ${literal(value)}`);
}

/** Rows whose column holds one of the values. Of no value: no row. */
export function oneOf(column: string, values: Iterable<FilterValue>): Filter {
  const literals = Array.from(values, literal);
  return literals.length === 0 ? never : filter(`${name(column)} IN (${literals.join(", ")})`);
}

export function atLeast(column: string, value: number): Filter {
  return filter(`${name(column)} >= ${literal(value)}`);
}

/** Rows whose column holds this text somewhere. No character in it means anything but itself. */
export function holds(column: string, text: string): Filter {
  return filter(`contains(${name(column)}, ${literal(text)})`);
}

/** All of them; of none: every row. */
export function allOf(...filters: readonly Filter[]): Filter {
  return filters.length === 0 ? filter("true") : filter(filters.map((part) => `(${part})`).join(" AND "));
}

/** At least one of them; of none: no row. */
export function anyOf(...filters: readonly Filter[]): Filter {
  return filters.length === 0 ? never : filter(filters.map((part) => `(${part})`).join(" OR "));
}

export function not(other: Filter): Filter {
  return filter(`NOT (${other})`);
}

/** A number or a string of SQL. In a string nothing but the single quote has a meaning, and a doubled one stands for itself. */
function literal(value: FilterValue): string {
  if (typeof value === "string") return `'${toStored(value).replaceAll("'", "''")}'`;
  if (!Number.isFinite(value)) throw new RangeError(`${value} is no number that a column can hold`);
  return String(value);
}

function name(column: string): string {
  if (!/^[a-z][a-z_]*$/.test(column)) throw new RangeError(`"${column}" is no name of a column`);
  return column;
}

function filter(sql: string): Filter {
  return sql as Filter;
}

const byteOrderMark = "\u{feff}";

/**
 * A text as it is stored. Half a character, as file systems allow it, becomes the sign for a broken one; and a mark of
 * the byte order at the beginning is doubled, as reading takes one away.
 */
export function toStored(text: string): string {
  const whole = text.toWellFormed();
  return whole.startsWith(byteOrderMark) ? byteOrderMark + whole : whole;
}
