PRAGMA page_size = 16384;
PRAGMA journal_mode = WAL;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL, hash TEXT NOT NULL,
  mtime REAL NOT NULL, size INTEGER NOT NULL, recipe TEXT NOT NULL, UNIQUE (source, path));
CREATE TABLE chunks (id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL, start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL, context TEXT NOT NULL, text TEXT NOT NULL, hash TEXT NOT NULL);
CREATE INDEX chunks_by_file ON chunks (file_id);
CREATE TABLE embedding_cache (provider TEXT NOT NULL, model TEXT NOT NULL, provider_key TEXT NOT NULL,
  dims INTEGER NOT NULL, hash TEXT NOT NULL, embedding BLOB NOT NULL, updated_at INTEGER NOT NULL,
  PRIMARY KEY (provider, model, provider_key, dims, hash));
CREATE VIRTUAL TABLE chunks_fts USING fts5(terms, content='', contentless_delete=1);
CREATE INDEX chunks_by_hash ON chunks (hash, file_id);
CREATE VIRTUAL TABLE chunks_vec USING vec0(source TEXT PARTITION KEY, embedding FLOAT[8] distance_metric=cosine);
INSERT INTO meta VALUES ('vector_space', '["fake","older","",8]');
INSERT INTO files VALUES (1, 'a.md', 'memory', '4c09436436486b6f0d63c6464702b51a2d08a4508026f7b4c8f1fbbf3bf1d8d3', 1.5, 10, '1');
INSERT INTO chunks VALUES (1, 1, 1, 1, '', 'word one', '3501bb3a9c3cd23438c7830d5e3407a68e827bdce8c8e19f04e66af5139c4681');
INSERT INTO chunks_fts (rowid, terms) VALUES (1, 'word one');
INSERT INTO chunks_vec (rowid, source, embedding) VALUES (1, 'memory', x'3a65efbe8a1b8c3ddd33903e6ce5db3ec7270f3ebba8f6bea2cc01bf6cd3843d');
INSERT INTO embedding_cache VALUES ('fake', 'older', '', 8, '3501bb3a9c3cd23438c7830d5e3407a68e827bdce8c8e19f04e66af5139c4681', x'3a65efbe8a1b8c3ddd33903e6ce5db3ec7270f3ebba8f6bea2cc01bf6cd3843d', 1000);
INSERT INTO chunks VALUES (2, 1, 2, 2, '', 'word two', '7cb45545330185cfe149db7ccee4eebef9607ec15f9ad97304453851a2713e16');
INSERT INTO chunks_fts (rowid, terms) VALUES (2, 'word two');
INSERT INTO chunks_vec (rowid, source, embedding) VALUES (2, 'memory', x'dedeab3e6fb1ebbef147eabe122cb8be5d8605be92017c3ef9642dbc9345023f');
INSERT INTO embedding_cache VALUES ('fake', 'older', '', 8, '7cb45545330185cfe149db7ccee4eebef9607ec15f9ad97304453851a2713e16', x'dedeab3e6fb1ebbef147eabe122cb8be5d8605be92017c3ef9642dbc9345023f', 1001);
INSERT INTO chunks VALUES (3, 1, 3, 3, '', 'word three', 'a hash of another kind');
INSERT INTO chunks_fts (rowid, terms) VALUES (3, 'word three');
INSERT INTO chunks_vec (rowid, source, embedding) VALUES (3, 'memory', x'570b1a3f38a32dbe00a1203bf83a41bc99bc56be260eeb3e6361e7be0154c63e');
INSERT INTO embedding_cache VALUES ('fake', 'older', '', 8, '3bf9906ebab9c3ba9c92a314e2a4013a07336da9e41dcbfe32ab375a9875a3c9', x'570b1a3f38a32dbe00a1203bf83a41bc99bc56be260eeb3e6361e7be0154c63e', 1002);
INSERT INTO embedding_cache VALUES ('fake', 'newer', 'query', 5, '7cb45545330185cfe149db7ccee4eebef9607ec15f9ad97304453851a2713e16', x'f35dd03efede0ebfdd030ebfe247dfbeeee021be', 500);
INSERT INTO embedding_cache VALUES ('fake', 'newer', 'query', 5, '283bb9deef02e6843abfb538efa1eca70801bd8a701c3f98191e123496339247', x'bcb04b3fd5c719bd55db89bd446d163fd64a003e', 3000);
PRAGMA application_id = 1836280948;
PRAGMA user_version = 1;
