// Locks a database until it is killed. Arguments: path, `all` (nobody can even read) or `write`.
import Database from "better-sqlite3";

const [path = "", kind] = process.argv.slice(2);
const db = new Database(path);
if (kind === "all") db.pragma("locking_mode = EXCLUSIVE");
db.exec("BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS held (a)");
process.stdout.write("locked\n");
setInterval(() => db.inTransaction, 1000);
