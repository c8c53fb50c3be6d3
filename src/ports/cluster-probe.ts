/**
 * The port by which `braid doctor` examines one API server: its TLS, its credentials and single answers. Not for the
 * operator, which uses `KubeApi`.
 */

import type { Effect } from "effect"
import type { Answer } from "../domain/commands/doctor/cluster-facts.ts"

/** The result of a TLS handshake in which we showed no credentials. */
export type Handshake =
  | {
      readonly _tag: "Connected"
      /** DER of the server's own certificate. */
      readonly certificate: Uint8Array | undefined
      /** The reason why the certificate is not trusted, as Node's code; missing for a trusted certificate. */
      readonly distrust: string | undefined
    }
  /** `code` of the operating system or of TLS; empty when there is none. */
  | { readonly _tag: "Failed"; readonly code: string; readonly detail: string }
  /** The file with the CA cannot be read, so no handshake was tried. */
  | { readonly _tag: "NoAuthority"; readonly detail: string }

export interface ProbeAnswer {
  readonly body: unknown
}

/** The answer to one request, and its time by the server's clock (header `Date`), epoch ms. */
export interface ProbeResult {
  readonly answer: Answer<ProbeAnswer>
  readonly date: number | undefined
}

/** Probes one API server. Never retries and never fails, because failures are the very result that is wanted. */
export interface ClusterProbe {
  /** URL of the API server. */
  readonly server: string
  /** Whether the configuration turns the check of certificates off. */
  readonly unchecked: boolean
  /** Whether a CA is configured. */
  readonly hasOwnAuthority: boolean
  /** Missing for a server without TLS. */
  readonly handshake: Effect.Effect<Handshake> | undefined
  /**
   * The reason why the credentials cannot be had from the files, programs or texts in the configuration; missing if
   * they can.
   */
  readonly credentialsProblem: Effect.Effect<string | undefined>
  readonly request: (method: "GET" | "POST", path: string, body?: object) => Effect.Effect<ProbeResult>
}
