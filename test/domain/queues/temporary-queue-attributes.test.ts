import { describe, expect, it } from "vitest"
import { temporaryQueueArguments } from "../../../src/domain/queues/temporary-queue-attributes.ts"

const policy = (arn: string, star: string): string =>
  JSON.stringify({
    Statement: [
      {
        Principal: { AWS: "arn:aws:iam::1:role/orders" },
        Resource: [arn, star, "arn:aws:sqs:eu-west-1:1:orders-dlq"],
        Condition: { ArnEquals: { "aws:SourceArn": "arn:aws:sns:eu-west-1:1:orders" } }
      }
    ]
  })
const readOnly = { QueueArn: "arn:aws:sqs:eu-west-1:1:orders", ApproximateNumberOfMessages: "3", CreatedTimestamp: "1" }
const kept = {
  VisibilityTimeout: "45",
  MessageRetentionPeriod: "60",
  ReceiveMessageWaitTimeSeconds: "5",
  MaximumMessageSize: "2048"
}
const fifo = { ContentBasedDeduplication: "true", DeduplicationScope: "queue", FifoThroughputLimit: "perQueue" }
const attributesOf = (attributes: Record<string, string>, name = "mirrord-x", role: "main" | "session" = "main") =>
  temporaryQueueArguments({ name: "orders", attributes, tags: {} }, { name, role, tags: {} }).attributes

describe("a temporary queue", () => {
  it("has what the original has, without its delay, and nothing that cannot be set", () => {
    const redrive = { RedrivePolicy: "{}" }
    const original = { ...readOnly, ...kept, ...redrive, DelaySeconds: "900", RedriveAllowPolicy: "{}", Policy: "" }
    expect(attributesOf(original)).toEqual({ ...kept, ...redrive, DelaySeconds: "0" })
    expect(attributesOf(original, "mirrord-x", "session"), "no dead letters of a session").toEqual({
      ...kept,
      DelaySeconds: "0"
    })
  })

  it("is a FIFO queue by its name alone", () => {
    expect(attributesOf({ ...fifo, FifoQueue: "true" }, "mirrord-x.fifo")).toEqual({
      ...fifo,
      FifoQueue: "true",
      DelaySeconds: "0"
    })
    expect(attributesOf({ ...fifo, FifoQueue: "false" })).toEqual({ DelaySeconds: "0" })
  })

  it.each([
    [
      { KmsMasterKeyId: "k", KmsDataKeyReusePeriodSeconds: "60", SqsManagedSseEnabled: "false" },
      ["KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds"]
    ],
    [{ SqsManagedSseEnabled: "true", KmsDataKeyReusePeriodSeconds: "300" }, ["SqsManagedSseEnabled"]]
  ])("has one kind of encryption: %j", (attributes, names) => {
    expect(Object.keys(attributesOf(attributes))).toEqual([...names, "DelaySeconds"])
  })

  it("has the policy for its own name, and leaves other resources alone", () => {
    const original = policy("arn:aws:sqs:eu-west-1:1:orders", "arn:aws:sqs:*:*:orders*")
    expect(attributesOf({ Policy: original })["Policy"]).toBe(
      policy("arn:aws:sqs:eu-west-1:1:mirrord-x", "arn:aws:sqs:*:*:mirrord-x*")
    )
    expect(attributesOf({ Policy: "no JSON" })["Policy"]).toBe("no JSON")
  })

  it("has the tags of both, the configured ones first, and none of AWS", () => {
    const tags = { "aws:cloudformation:stack-name": "s", team: "a", stage: "prod" }
    const temporary = { name: "mirrord-x", role: "main", tags: { team: "b" } } as const
    const make = (tags: Record<string, string>) =>
      temporaryQueueArguments({ name: "orders", attributes: {}, tags }, temporary).tags
    expect(make(tags)).toEqual({ team: "b", stage: "prod" })
    const many = make(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`t${i}`, ""])))
    expect(Object.keys(many)).toHaveLength(50)
    expect(many["team"]).toBe("b")
  })
})
