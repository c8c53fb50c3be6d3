/** Clients of the AWS SDK for one service, by their regions. The SDK is loaded with the first of them. */

interface Client {
  readonly destroy: () => void
}

export class RegionalClients<C extends Client> {
  readonly #make: (region: string | undefined) => Promise<C>
  readonly #known = new Map<string | undefined, Promise<C>>()

  constructor(make: (region: string | undefined) => Promise<C>) {
    this.#make = make
  }

  get(region: string | undefined): Promise<C> {
    const made = this.#known.get(region) ?? this.#make(region)
    this.#known.set(region, made)
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
