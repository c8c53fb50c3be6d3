/** A request of a peer together with the way back to it. */

import type { Readable } from "node:stream"
import type { HttpAnswer } from "./http-answer.ts"
import type { HttpMessage } from "./http-message.ts"

export interface ServedRequest {
  readonly message: HttpMessage
  /** The body of the message for one reader. */
  readonly body: Readable
  readonly answer: HttpAnswer
}
