/** True where the list names the path: as it is, as a folder above it, or as everything. */
const names = (list: string): string =>
  `len(list_filter(${list}, lambda place:
     place = '' or place = path or (ends_with(place, '/') and starts_with(path, place)))) > 0`;

/** What `isAsked` of memslot says of one file, in SQL. */
const isAsked = `list_contains($sources, source) and (not $scoped or (${names("$within")} and not ${names("$without")}))`;

/** The files that a search is about. */
const askedFiles = `asked_files as (select path, source from files where ${isAsked})`;
/** The last ones only decide between chunks of one score, so that the order is always the same. */
const order = "order by score desc, source, path, line, id";

/**
 * BM25 (k1 = 1.2, b = 0.75) in one statement, so that all of it is about one state of the tables. Without a scope chunks
 * are counted over the whole index, with one over the asked files alone.
 */
export const searchWords: string = `
  with asked_terms as (
    select unnest(range(1, len($terms) + 1)) as nth, unnest($terms) as term, unnest($prefixes) as prefix
  ),
  ${askedFiles},
  counted as (
    select * from chunks where not $scoped or (path, source) in (select (path, source) from asked_files)
  ),
  totals as (select count(*) as chunks, avg(length) as average from counted),
  found as (
    select nth, chunk, times from asked_terms join words on word = term where not prefix
    union all
    select nth, chunk, times from asked_terms join words on starts_with(word, term) where prefix
  ),
  matches as (
    select nth, chunk, sum(times) as times from found where chunk in (select id from counted) group by nth, chunk
  ),
  holders as (
    select nth, count(chunk) as holders from asked_terms left join matches using (nth) group by nth
  ),
  scores as (
    select chunk, sum(
      ln(1 + (chunks - holders + 0.5) / (holders + 0.5)) * 2.2 * times
        / (times + 1.2 * (0.25 + 0.75 * length / average)) order by nth) as score
    from matches join holders using (nth) join counted on id = chunk cross join totals
    group by chunk
  ),
  found_rows as (
    select path, source, line, hash, score, id from scores join counted on id = chunk
    where (path, source) in (select (path, source) from asked_files)
    ${order} limit $limit
  )
  select
    (select chunks from totals)::integer as chunk_count,
    (select list(holders::integer order by nth) from holders) as holders,
    (select list({ path: path, source: source, startLine: line, hash: hash, score: score } ${order})
     from found_rows) as rows`;

/** Vectors have unit length, so that their inner product is the cosine. */
export const searchVectors: string = `
  with ${askedFiles}
  select path, source, line as "startLine", chunks.hash, list_inner_product(vector, $vector)::double as score
  from vectors join chunks using (hash)
  where space = $space and (path, source) in (select (path, source) from asked_files)
  ${order} limit $limit`;
