PRAGMA page_size = 32768;
PRAGMA journal_mode = WAL;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL, hash TEXT NOT NULL,
  mtime REAL NOT NULL, size INTEGER NOT NULL, recipe TEXT NOT NULL, UNIQUE (source, path));
CREATE TABLE chunks (id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL, start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL, context TEXT NOT NULL, text TEXT NOT NULL, hash BLOB NOT NULL);
CREATE INDEX chunks_by_file ON chunks (file_id);
CREATE INDEX chunks_by_hash ON chunks (hash, file_id);
CREATE TABLE spaces (id INTEGER PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL,
  provider_key TEXT NOT NULL, dims INTEGER NOT NULL, written_at INTEGER NOT NULL,
  UNIQUE (provider, model, provider_key, dims));
CREATE TABLE embedding_cache (hash BLOB NOT NULL, space_id INTEGER NOT NULL, used_at INTEGER NOT NULL,
  vector_id INTEGER NOT NULL, PRIMARY KEY (hash, space_id)) WITHOUT ROWID;
CREATE TABLE vectors (id INTEGER PRIMARY KEY, embedding BLOB NOT NULL);
CREATE TABLE quarantine (hash BLOB NOT NULL, space_id INTEGER NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (hash, space_id)) WITHOUT ROWID;
CREATE VIRTUAL TABLE chunks_fts USING fts5(terms, content='', contentless_delete=1, tokenize="ascii");
CREATE VIRTUAL TABLE chunks_vec USING vec0(source TEXT PARTITION KEY, embedding INT8[8] distance_metric=cosine,
  chunk_size=128);
INSERT INTO spaces VALUES (1, 'fake', 'older', '', 8, 1000);
INSERT INTO meta VALUES ('vector_space', '1'), ('vector_angle', '0.1');
INSERT INTO files VALUES (1, 'a.md', 'memory', '4c09436436486b6f0d63c6464702b51a2d08a4508026f7b4c8f1fbbf3bf1d8d3', 1.5, 10, '1');
INSERT INTO chunks VALUES (1, 1, 1, 1, '', 'word one', x'3501bb3a9c3cd23438c7830d5e3407a68e827bdce8c8e19f04e66af5139c4681');
INSERT INTO chunks_fts (rowid, terms) VALUES (1, 'word one');
INSERT INTO chunks VALUES (2, 1, 2, 2, '', 'word two', x'7cb45545330185cfe149db7ccee4eebef9607ec15f9ad97304453851a2713e16');
INSERT INTO chunks_fts (rowid, terms) VALUES (2, 'word two');
INSERT INTO chunks VALUES (3, 1, 3, 3, '', 'word three', x'3bf9906ebab9c3ba9c92a314e2a4013a07336da9e41dcbfe32ab375a9875a3c9');
INSERT INTO chunks_fts (rowid, terms) VALUES (3, 'word three');
INSERT INTO files VALUES (7, 'b.jsonl', 'sessions', 'df10669fc97357aef47520ec4efd51ed80cf4f0fa44dea915b893707063b91db', 1.5, 10, '1');
INSERT INTO chunks VALUES (4, 7, 1, 1, '', 'word one', x'3501bb3a9c3cd23438c7830d5e3407a68e827bdce8c8e19f04e66af5139c4681');
INSERT INTO chunks_fts (rowid, terms) VALUES (4, 'word one');
INSERT INTO chunks VALUES (5, 7, 2, 2, '', 'grüße', x'8285d1ad84c6b6e475d3b50dbf90389c8c7a07a278d9ae46d5698cbe872e3834');
INSERT INTO chunks_fts (rowid, terms) VALUES (5, 'grüße');
INSERT INTO files VALUES (9, 'empty.md', 'memory', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 1.5, 10, '1');
INSERT INTO quarantine VALUES (x'3bf9906ebab9c3ba9c92a314e2a4013a07336da9e41dcbfe32ab375a9875a3c9', 1, 'no');
INSERT INTO vectors VALUES (1, x'3a65efbe8a1b8c3ddd33903e6ce5db3ec7270f3ebba8f6bea2cc01bf6cd3843d');
INSERT INTO embedding_cache VALUES (x'3501bb3a9c3cd23438c7830d5e3407a68e827bdce8c8e19f04e66af5139c4681', 1, 1000, 1);
INSERT INTO vectors VALUES (2, x'dedeab3e6fb1ebbef147eabe122cb8be5d8605be92017c3ef9642dbc9345023f');
INSERT INTO embedding_cache VALUES (x'7cb45545330185cfe149db7ccee4eebef9607ec15f9ad97304453851a2713e16', 1, 1001, 2);
INSERT INTO vectors VALUES (3, x'067ae43e5a7eacbccba11abd4fbba83e5ae78f3df6a916bfd8500fbf6e1824be');
INSERT INTO embedding_cache VALUES (x'283bb9deef02e6843abfb538efa1eca70801bd8a701c3f98191e123496339247', 1, 1002, 3);
INSERT INTO chunks_vec (rowid, source, embedding) VALUES (1, 'memory', vec_int8(x'0101010101010101'));
PRAGMA application_id = 1836280948;
PRAGMA user_version = 2;
