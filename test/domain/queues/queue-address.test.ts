import { Result } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { parseQueueAddress, renamedQueue } from "../../../src/domain/queues/queue-address.ts"

const endpoint = "http://localhost:9324"
const parse = (text: string) =>
  Result.getOrThrowWith(parseQueueAddress(text, endpoint), (problem) => new Error(problem))
const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}(?:\.fifo)?$/u)

describe("the address of a queue", () => {
  it.each([
    ["https://sqs.us-east-1.amazonaws.com/123456789012/orders", "us-east-1"],
    ["https://SQS.us-gov-west-1.amazonaws.com:443/123456789012/orders.fifo", "us-gov-west-1"],
    ["https://sqs-fips.us-east-2.amazonaws.com/123456789012/orders", "us-east-2"],
    ["https://sqs.cn-north-1.amazonaws.com.cn/123456789012/orders", "cn-north-1"],
    ["http://eu-west-1.queue.amazonaws.com/123456789012/orders", "eu-west-1"],
    ["https://queue.amazonaws.com/123456789012/orders", "us-east-1"],
    ["https://vpce-0a1b-2c3d.sqs.eu-central-1.vpce.amazonaws.com/123456789012/orders", "eu-central-1"],
    ["https://sqs.ap-southeast-3.api.aws/123456789012/orders", "ap-southeast-3"],
    ["http://localhost:9324/123456789012/orders", undefined]
  ])("%s is in %s", (url, region) => {
    const host = new URL(url).host
    const queue = url.endsWith(".fifo") ? "orders.fifo" : "orders"
    expect(parse(url)).toEqual({ _tag: "Url", name: queue, url, host, region, account: "123456789012" })
  })

  it("needs no account at the configured endpoint", () => {
    expect(parse("http://localhost:9324/queue/orders")).toMatchObject({ name: "orders", account: undefined })
  })

  it.each([
    ["https://example.com/123456789012/orders", 'on the host "example.com", which is not known'],
    ["https://sqs.us-east-1.amazonaws.com.example.com/123456789012/orders", "not known"],
    ["https://sqs.us-east-1.amazonaws.com@example.com/123456789012/orders", "more than that"],
    ["https://user@sqs.us-east-1.amazonaws.com/123456789012/orders", "more than that"],
    ["https://example.com\\@sqs.us-east-1.amazonaws.com/123456789012/orders", "not known"],
    ["https://example.com/?.amazonaws.com/123456789012/orders", "more than that"],
    ["https://sqs.us-east-1.amazonaws.com:8443/123456789012/orders", "not known"],
    ["https://sqs.s3.amazonaws.com/123456789012/orders", "not known"],
    ["https://vpce-0a.vpce-svc-0b.us-east-1.vpce.amazonaws.com/123456789012/orders", "not known"],
    ["https://sqsxus-east-1.amazonaws.com/123456789012/orders", "not known"],
    ["http://169.254.169.254/123456789012/orders", "not known"],
    ["https://localhost:9324/123456789012/orders", "not known"],
    ["http://localhost:9325/123456789012/orders", "not known"],
    ["https://sqs.us-east-1.amazonaws.com/orders", "does not name the account"],
    ["https://sqs.us-east-1.amazonaws.com/123456789012/orders/", "does not end in the name"],
    ["https://sqs.us-east-1.amazonaws.com/123456789012/orders?a", "more than that"],
    ["https://sqs.us-east-1.amazonaws.com/123456789012/or%64ers", "does not end in the name"],
    ["file:///123456789012/orders", "neither a name nor a URL"],
    ["arn:aws:sqs:us-east-1:123456789012:orders", "neither a name nor a URL"],
    ["orders.fifo.fifo", "neither a name nor a URL"],
    [".fifo", "neither a name nor a URL"],
    ["", "neither a name nor a URL"],
    ["a".repeat(81), "neither a name nor a URL"]
  ])("%s is refused: %s", (text, why) => {
    expect(Result.getOrThrow(Result.flip(parseQueueAddress(text, endpoint)))).toContain(why)
  })

  it("keeps its form when it is renamed", () => {
    fc.assert(
      fc.property(
        name,
        name,
        fc.constantFrom("", "http://localhost:9324/a/", "https://queue.amazonaws.com/123456789012/"),
        (from, to, before) => {
          expect(renamedQueue(parse(`${before}${from}`), to)).toBe(`${before}${to}`)
        }
      )
    )
  })
})
