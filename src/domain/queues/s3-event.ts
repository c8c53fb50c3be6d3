/**
 * The object in Amazon S3 that a message is about, by the notification in its body (Amazon S3 User Guide, "Event
 * message structure"). The senders of messages choose these names, so only names of buckets and of regions pass.
 *
 * Not here: reading the object's metadata.
 */

import { asObject, asObjects, asString, at, type JsonObject } from "../json.ts"

export interface StoredObject {
  readonly bucket: string
  readonly key: string
  readonly region: string
  /** The version in a bucket that keeps versions; `undefined` for the latest. */
  readonly version: string | undefined
}

/** General purpose buckets ("General purpose bucket naming rules"): an ARN would lead to another host. */
const bucketName = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/u
const regionName = /^[a-z]{2,}(?:-[a-z]+)+-\d{1,2}$/u
/** Events after which there is no object, or a mark in its place ("Supported event types"). */
const removal = /^(?:s3:)?(?:ObjectRemoved|LifecycleExpiration):/u
/** Bytes of a key, at most. */
const maxKey = 1_024

const parsed = (text: string): JsonObject => {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return {}
  }
}

/** Keys are encoded as in the query of a URL. `undefined` for a text that is none of these. */
const decodedKey = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return undefined
  }
}

/** The notification in a body; with `sns` it may be the text in an envelope of Amazon SNS. */
const notificationIn = (body: string, sns: boolean): JsonObject => {
  const found = parsed(body)
  const inside = sns ? asString(found["Message"]) : undefined
  return inside === undefined ? found : parsed(inside)
}

/**
 * The object of a message; `undefined` if its body is no notification about exactly one object that is there. `sns`:
 * whether bodies may be envelopes of Amazon SNS.
 */
export const objectOf = (body: string, sns: boolean): StoredObject | undefined => {
  const [record, ...others] = asObjects(notificationIn(body, sns)["Records"])
  if (record === undefined || others.length > 0 || removal.test(asString(record["eventName"]) ?? "")) return undefined
  const [bucket, region] = [asString(at(record, "s3", "bucket", "name")), asString(record["awsRegion"])]
  const object = at(record, "s3", "object")
  const key = decodedKey(asString(at(object, "key")) ?? "")
  if (bucket === undefined || region === undefined || !key || new TextEncoder().encode(key).length > maxKey)
    return undefined
  if (!bucketName.test(bucket) || !regionName.test(region)) return undefined
  return { bucket, key, region, version: asString(at(object, "versionId")) || undefined }
}
