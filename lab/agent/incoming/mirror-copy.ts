/**
 * The copy of one connection or request for one mirroring client. Mirroring never waits: a client that does not keep up
 * loses the rest, with a warning.
 */

import type { DaemonTcp } from "../../../src/domain/protocol/incoming-messages.ts"
import type { IncomingClient } from "./incoming-client.ts"

/** Messages that may wait for a slow client before its copy ends (agent.md §4.4). */
const maxQueue = 32

export class MirrorCopy {
  readonly #client: IncomingClient
  readonly id: bigint
  #open = true
  #waiting = 0
  #full = false

  constructor(client: IncomingClient) {
    this.#client = client
    this.id = client.openMirrored(() => {
      this.#open = false
    })
  }

  send(message: DaemonTcp): void {
    if (!this.#open) return
    if (this.#full && ++this.#waiting > maxQueue) {
      this.#client.output.log("Warn", `mirrored connection ${this.id} was dropped: the client does not keep up`)
      return this.close()
    }
    if (this.#client.sendMirrored(message) || this.#full) return
    this.#full = true
    this.#client.output.drained(() => {
      this.#full = false
      this.#waiting = 0
    })
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#client.closeMirrored(this.id)
  }
}
