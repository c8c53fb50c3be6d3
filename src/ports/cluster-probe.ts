import type { Effect } from "effect"
import type { Answer } from "../domain/doctor/cluster-facts.ts"

/** What came of a TLS handshake in which nothing of ours was shown. */
export type Handshake =
  | {
      readonly _tag: "Connected"
      /** DER of the server's own certificate. */
      readonly certificate: Uint8Array | undefined
      /** Why it is not to be trusted, as Node's code; missing: it is. */
      readonly distrust: string | undefined
    }
  /** `code` of the operating system or of TLS; empty when there is none. */
  | { readonly _tag: "Failed"; readonly code: string; readonly detail: string }
  /** The file with the CA cannot be read: nothing was tried. */
  | { readonly _tag: "NoAuthority"; readonly detail: string }

export interface ProbeAnswer {
  readonly body: unknown
}

/** One request: what was answered, and when by the server's clock (header `Date`), epoch ms. */
export interface ProbeResult {
  readonly answer: Answer<ProbeAnswer>
  readonly date: number | undefined
}

/** Looks at one API server, without a retry and without ever failing: what went wrong is what is looked for. */
export interface ClusterProbe {
  /** URL of the API server. */
  readonly server: string
  /** Whether certificates are not looked at, by configuration. */
  readonly unchecked: boolean
  /** Whether a CA is configured. */
  readonly hasOwnAuthority: boolean
  /** Missing for a server without TLS. */
  readonly handshake: Effect.Effect<Handshake> | undefined
  /**
   * Why the credentials cannot be had from the files, the program or the texts that the configuration names; missing:
   * they can.
   */
  readonly credentialsProblem: Effect.Effect<string | undefined>
  readonly request: (method: "GET" | "POST", path: string, body?: object) => Effect.Effect<ProbeResult>
}
