export { missingPrograms, type S3Gateway, startS3Gateway } from "./s3-gateway.ts";
