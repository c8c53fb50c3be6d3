import { expect, it } from "vitest"
import { configuredEndpoint } from "../../../src/domain/queues/configured-endpoint.ts"

const [sqs, all] = ["http://sqs", "http://all"]

it.each([
  [{}, undefined],
  [{ AWS_ENDPOINT_URL: all }, all],
  [{ AWS_ENDPOINT_URL: all, AWS_ENDPOINT_URL_SQS: sqs }, sqs],
  [{ AWS_ENDPOINT_URL: all, AWS_ENDPOINT_URL_SQS: "" }, all],
  [{ AWS_ENDPOINT_URL: "", AWS_ENDPOINT_URL_SQS: "" }, undefined],
  [{ AWS_ENDPOINT_URL: all, AWS_ENDPOINT_URL_SQS: sqs, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: "True" }, undefined],
  [{ AWS_ENDPOINT_URL_SQS: sqs, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: "false" }, sqs]
])("with %j the server is %s", (variables, endpoint) => {
  expect(configuredEndpoint("SQS", variables)).toBe(endpoint)
})

it("is another one for S3", () => {
  expect(configuredEndpoint("S3", { AWS_ENDPOINT_URL_S3: "http://s3", AWS_ENDPOINT_URL_SQS: sqs })).toBe("http://s3")
})
