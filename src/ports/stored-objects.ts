/** The port for objects in Amazon S3 that messages are about. */

import { Context, Data, type Effect } from "effect"
import type { StoredObject } from "../domain/queues/s3-event.ts"

/** The metadata of an object could not be read. `detail`: a clause with the cure, without the object's key. */
export class StoredObjectError extends Data.TaggedError("StoredObjectError")<{
  readonly bucket: string
  readonly detail: string
  /** Whether the object is not there any more, which is no problem of the operator's. */
  readonly isGone?: boolean
}> {
  override get message(): string {
    return `the metadata of an object in the bucket ${this.bucket} cannot be read: ${this.detail}`
  }
}

export class StoredObjects extends Context.Service<
  StoredObjects,
  {
    /** The metadata that users gave the object, with names in lower case. Asks once; the caller bounds the time. */
    readonly metadata: (object: StoredObject) => Effect.Effect<Readonly<Record<string, string>>, StoredObjectError>
  }
>()("braid/ports/StoredObjects") {}
