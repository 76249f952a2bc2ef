PRAGMA page_size = 32768;
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE generations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, state TEXT NOT NULL,
  started_at INTEGER NOT NULL, built_at INTEGER);
CREATE TABLE files (id INTEGER PRIMARY KEY, generation INTEGER NOT NULL, path TEXT NOT NULL, source TEXT NOT NULL,
  hash TEXT NOT NULL, mtime REAL NOT NULL, size INTEGER NOT NULL, recipe TEXT NOT NULL, cursor TEXT,
  chunks INTEGER NOT NULL, chunk_bytes INTEGER NOT NULL, UNIQUE (generation, source, path));
CREATE TABLE chunks (id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL, start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL, context TEXT NOT NULL, text TEXT NOT NULL, hash BLOB NOT NULL);
CREATE INDEX chunks_by_file ON chunks (file_id, start_line);
CREATE TABLE spaces (id INTEGER PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL,
  provider_key TEXT NOT NULL, dims INTEGER NOT NULL, written_at INTEGER NOT NULL,
  UNIQUE (provider, model, provider_key, dims));
CREATE TABLE embedding_cache (hash BLOB NOT NULL, space_id INTEGER NOT NULL, used_at INTEGER NOT NULL,
  vector_id INTEGER NOT NULL, PRIMARY KEY (hash, space_id)) WITHOUT ROWID;
CREATE TABLE vectors (id INTEGER PRIMARY KEY, embedding BLOB NOT NULL);
CREATE TABLE quarantine (hash BLOB NOT NULL, space_id INTEGER NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (hash, space_id)) WITHOUT ROWID;
INSERT INTO meta VALUES ('revision', '41'), ('most_chunks', '3');
INSERT INTO generations VALUES (2, '', 'dropped', 1, 1), (3, 'v3', 'active', 2, 2), (4, 'v4', 'next', 3, NULL);
INSERT INTO spaces VALUES (1, 'fake', 'm', '', 8, 5);
CREATE VIRTUAL TABLE chunks_fts_2 USING fts5(terms, content='', contentless_delete=1, tokenize="ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE chunks_fts_3 USING fts5(terms, content='', contentless_delete=1, tokenize="ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE chunks_fts_4 USING fts5(terms, content='', contentless_delete=1, tokenize="ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
INSERT INTO files VALUES (NULL, 2, 'a.md', 'memory', 'acb0ed4a14a28c8ebf8574698afa32f1dc2c782224a2034e42c6ccd85e3e2a29', 1.5, 10, '1', NULL, 1, 12);
INSERT INTO chunks VALUES (NULL, 1, 1, 1, '', 'dropped word', x'acb0ed4a14a28c8ebf8574698afa32f1dc2c782224a2034e42c6ccd85e3e2a29');
INSERT INTO chunks_fts_2 (rowid, terms) VALUES (1, 'dropped word');
INSERT INTO files VALUES (NULL, 3, 'a.md', 'memory', 'cab799f5b9b78acf296616f16238e4b4a393ad4ea4a7ded16b59025f63ee4662', 1.5, 10, '1', NULL, 1, 8);
INSERT INTO chunks VALUES (NULL, 2, 1, 1, '', 'old word', x'cab799f5b9b78acf296616f16238e4b4a393ad4ea4a7ded16b59025f63ee4662');
INSERT INTO chunks_fts_3 (rowid, terms) VALUES (2, 'old word');
INSERT INTO files VALUES (NULL, 3, 'b.md', 'memory', '4f20e5d6c4e2ce08effc8515172593f027bb722c50dd5a32478353291fb2d765', 1.5, 10, '1', NULL, 1, 12);
INSERT INTO chunks VALUES (NULL, 3, 1, 1, '', 'refused word', x'4f20e5d6c4e2ce08effc8515172593f027bb722c50dd5a32478353291fb2d765');
INSERT INTO chunks_fts_3 (rowid, terms) VALUES (3, 'refused word');
INSERT INTO files VALUES (NULL, 4, 'a.md', 'memory', '1c0874ee66ef0e17d4f27292314df6aed4c15ffec1c004d92d1b96175a661e86', 1.5, 10, '1', NULL, 1, 8);
INSERT INTO chunks VALUES (NULL, 4, 1, 1, '', 'new word', x'1c0874ee66ef0e17d4f27292314df6aed4c15ffec1c004d92d1b96175a661e86');
INSERT INTO chunks_fts_4 (rowid, terms) VALUES (4, 'new word');
INSERT INTO vectors VALUES (1, x'96c8273fd587713e5e6408bf9d215bbe670895bb6cfa89be62c6913e6d9a353e');
INSERT INTO embedding_cache VALUES (x'cab799f5b9b78acf296616f16238e4b4a393ad4ea4a7ded16b59025f63ee4662', 1, 1, 1);
INSERT INTO quarantine VALUES (x'4f20e5d6c4e2ce08effc8515172593f027bb722c50dd5a32478353291fb2d765', 1, 'too odd');
PRAGMA application_id = 1836280948;
PRAGMA user_version = 3;
