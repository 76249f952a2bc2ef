export { startObjectStorage } from "./server.ts";
export {
  type ObjectRequest,
  type ObjectStorage,
  type ObjectStorageOptions,
  type ObjectStorageStats,
} from "./options.ts";
