import { Data } from "effect"

/** Our own client could not go on, in a sentence. */
export class ClientFailed extends Data.TaggedError("ClientFailed")<{ readonly detail: string }> {
  override get message(): string {
    return this.detail
  }
}
