/**
 * The server that stands in for a service of AWS, by the variables that the AWS SDKs read ("Service-specific endpoints"
 * in their reference guide). Endpoints in AWS' configuration files are not looked at.
 */

/** The URL of the server; `undefined` if AWS itself is asked. */
export const configuredEndpoint = (
  service: "S3" | "SQS",
  variables: Readonly<Record<string, string | undefined>>
): string | undefined =>
  variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"]?.toLowerCase() === "true"
    ? undefined
    : variables[`AWS_ENDPOINT_URL_${service}`] || variables["AWS_ENDPOINT_URL"] || undefined
