/**
 * Notices on a client's connection that a part of its agent has failed. The agent says so in a Close and ends every
 * connection from then on; a client would take the Close for the end of its session. It is not told: its connection is
 * lost, as with an agent that has exited, and leads to the agent's successor.
 *
 * Not here: giving the agent up (agent-watch.ts).
 */

import { quotation } from "../../../domain/clean-text.ts"
import { daemonMessage } from "../../../domain/protocol/daemon-message.ts"
import { peekDaemon } from "../../../domain/protocol/peek.ts"
import { isAgentFailure } from "../../../domain/sessions/agent-health.ts"
import type { FrameChannel } from "../../../ports/frame-channel.ts"
import { passedOn } from "../../kernel/guarded-channel.ts"

/** The agent's words if it says that a part of it has failed. */
const failureIn = (bytes: Uint8Array): string | undefined => {
  if (peekDaemon(bytes) !== "Close") return undefined
  const read = daemonMessage.decode(bytes)
  return read._tag === "Decoded" && read.value._tag === "Close" && isAgentFailure(read.value.value)
    ? quotation(read.value.value)
    : undefined
}

/** The connection to an agent; `failed` is called once, with the agent's words. */
export const failingAgent = (channel: FrameChannel, failed: (why: string) => void): FrameChannel => ({
  ...passedOn(channel),
  send: (bytes) => channel.send(bytes),
  open: (handlers) => {
    let hasFailed = false
    channel.open({
      ...handlers,
      message: (bytes) => {
        if (hasFailed) return
        const why = failureIn(bytes)
        if (why === undefined) return handlers.message(bytes)
        hasFailed = true
        channel.close()
        failed(why)
        handlers.ended(`the agent failed: ${why}`)
      }
    })
  }
})
