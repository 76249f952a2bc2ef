/** Answers in the form of Google's, for the kinds of failure that only their details tell apart. */
function answer(code: number, status: string, message: string, details: readonly Record<string, unknown>[]): unknown {
  return { error: { code, message, status, details } };
}

function quotaFailure(quotaId: string): Record<string, unknown> {
  const quotaMetric = "generativelanguage.googleapis.com/embed_content_free_tier_requests";
  return { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaMetric, quotaId }] };
}

function retryInfo(retryDelay: string): Record<string, unknown> {
  return { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay };
}

// Google says this for every limit, that of a minute too.
const anyLimit =
  "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.";

export const minuteIsFull: unknown = answer(429, "RESOURCE_EXHAUSTED", anyLimit, [
  quotaFailure("EmbedContentRequestsPerMinutePerUserPerProjectPerModel-FreeTier"),
  retryInfo("23.5s"),
]);

export const dayIsSpent: unknown = answer(429, "RESOURCE_EXHAUSTED", anyLimit, [
  quotaFailure("EmbedContentRequestsPerMinutePerUserPerProjectPerModel-FreeTier"),
  quotaFailure("EmbedContentRequestsPerDayPerUserPerProjectPerModel-FreeTier"),
  retryInfo("22s"),
]);

export const regionMinuteIsFull: unknown = answer(
  429,
  "RESOURCE_EXHAUSTED",
  "Quota exceeded for quota metric 'Read API requests' and limit 'Model operations request limit per minute for a region'.",
  [
    {
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: "RATE_LIMIT_EXCEEDED",
      metadata: { quota_unit: "1/min/{project}/{region}", quota_limit: "ModelRequestsPerMinutePerProjectPerRegion" },
    },
  ],
);

export const keyExpired: unknown = answer(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", [
  { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID", domain: "googleapis.com" },
]);

export const wrongCountry: unknown = answer(
  400,
  "FAILED_PRECONDITION",
  "User location is not supported for the API use.",
  [],
);

export const wrongSetting: unknown = answer(
  400,
  "INVALID_ARGUMENT",
  "* BatchEmbedContentsRequest.requests[0].output_dimensionality: must be at most 3072",
  [],
);
