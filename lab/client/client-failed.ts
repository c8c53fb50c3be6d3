/**
 * The strict client over a real socket cannot go on, with the reason as a sentence. Refusals inside a session are
 * events instead (`client-output.ts`).
 */

import { Data } from "effect"

export class ClientFailed extends Data.TaggedError("ClientFailed")<{ readonly detail: string }> {
  override get message(): string {
    return this.detail
  }
}
