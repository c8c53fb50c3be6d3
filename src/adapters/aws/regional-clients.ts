/**
 * Clients of the AWS SDK for one service, by their regions. The SDK is loaded with the first of them. Regions come from
 * users and from senders of messages, so only the latest clients are kept.
 */

interface Client {
  readonly destroy: () => void
}

/** Clients that are kept, at most: a fleet's queues are in few regions. */
const maxClients = 16

export class RegionalClients<C extends Client> {
  readonly #make: (region: string | undefined) => Promise<C>
  readonly #known = new Map<string | undefined, Promise<C>>()

  constructor(make: (region: string | undefined) => Promise<C>) {
    this.#make = make
  }

  get(region: string | undefined): Promise<C> {
    const made = this.#known.get(region) ?? this.#make(region)
    // The client that was used longest ago is the first.
    this.#known.delete(region)
    this.#known.set(region, made)
    const [oldest] = this.#known.keys()
    if (this.#known.size > maxClients) this.forget(oldest)
    return made
  }

  /** The next call looks for the identity again; calls that are under way go on. */
  forget(region: string | undefined): void {
    this.#known.delete(region)
  }

  async close(): Promise<void> {
    for (const client of this.#known.values()) (await client).destroy()
  }
}
