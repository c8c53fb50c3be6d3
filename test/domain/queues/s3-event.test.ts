import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { objectOf } from "../../../src/domain/queues/s3-event.ts"

/** A notification as Amazon S3 sends it, in short. */
const record = (change: { readonly bucket?: string; readonly region?: string; readonly object?: object } = {}) => {
  const { bucket = "photos", object = { key: "a.jpg" }, region = "eu-north-1" } = change
  return { eventSource: "aws:s3", awsRegion: region, s3: { bucket: { name: bucket }, object } }
}
const body = (...records: ReadonlyArray<object>): string => JSON.stringify({ Records: records })
const enveloped = (message: string): string => JSON.stringify({ Type: "Notification", Message: message })

describe("the object that a message is about", () => {
  it.each([
    ["a notification", body(record()), false, { key: "a.jpg" }],
    ["a version", body(record({ object: { key: "a.jpg", versionId: "7" } })), false, { key: "a.jpg", version: "7" }],
    [
      "a key with signs",
      body(record({ object: { key: "red+flower%2B1/%C3%A9.jpg" } })),
      false,
      { key: "red flower+1/é.jpg" }
    ],
    ["an empty version", body(record({ object: { key: "a.jpg", versionId: "" } })), false, { key: "a.jpg" }],
    ["an envelope", enveloped(body(record())), true, { key: "a.jpg" }],
    ["no envelope where there may be some", body(record()), true, { key: "a.jpg" }]
  ])("is read from %s", (_what, text, sns, found) => {
    expect(objectOf(text, sns)).toEqual({ bucket: "photos", region: "eu-north-1", version: undefined, ...found })
  })

  it.each([
    ["a text", "hello"],
    ["a test event", JSON.stringify({ Service: "Amazon S3", Event: "s3:TestEvent" })],
    ["an envelope that is not expected", enveloped(body(record()))],
    ["two objects", body(record(), record())],
    ["an object that was removed", body({ ...record(), eventName: "ObjectRemoved:DeleteMarkerCreated" })],
    ["no key", body(record({ object: {} }))],
    ["an empty key", body(record({ object: { key: "" } }))],
    ["a key that cannot be read", body(record({ object: { key: "%E0%A4%A" } }))],
    ["a key of 1,025 bytes", body(record({ object: { key: "é".repeat(512) + "ab" } }))],
    ["a bucket that is an ARN", body(record({ bucket: "arn:aws:s3:eu-north-1:1:accesspoint/a" }))],
    ["a bucket that is a host", body(record({ bucket: "a.example.com/b" }))],
    ["a region that is a host", body(record({ region: "evil.example.com#" }))],
    ["a region that is none", body(record({ region: "" }))]
  ])("is unknown for %s", (_what, text) => {
    expect(objectOf(text, false)).toBeUndefined()
  })

  it("is read from any body without an exception", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), fc.boolean(), (text, sns) => {
        expect(() => objectOf(text, sns)).not.toThrow()
      })
    )
  })
})
