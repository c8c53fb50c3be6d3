import type { Role } from "../fleet/roles.ts"
import type { ClockReading } from "./clock-skew.ts"
import type { NeededRight } from "./needed-rights.ts"
import type { TokenClaims } from "./token-claims.ts"
import type { Validity } from "./validity.ts"

/** What came of a request. `detail` is the server's own sentence, or the network's. */
export type Answer<T> =
  | { readonly _tag: "Answered"; readonly value: T }
  | { readonly _tag: "Refused"; readonly code: number; readonly detail: string }
  | { readonly _tag: "NoAnswer"; readonly detail: string }
  /** It made no sense to ask: something before failed. */
  | { readonly _tag: "NotAsked" }

/** By what this cluster is asked. */
export type CredentialFacts =
  | {
      readonly _tag: "Token"
      readonly from: string
      readonly claims: TokenClaims | undefined
      /** Somebody replaces it in time: the kubelet. */ readonly renewed: boolean
    }
  | { readonly _tag: "Certificate"; readonly from: string; readonly validity: Validity }
  /** There is none, or it cannot be used; both are whole sentences. */
  | { readonly _tag: "Unusable"; readonly problem: string; readonly fix: string }
  /** An `authType` that is not built. */
  | { readonly _tag: "Unsupported"; readonly authType: string }
  /** Whatever else a kubeconfig may hold: a program, a password. Nothing says when it ends. */
  | { readonly _tag: "Other"; readonly from: string }

/** What came of connecting, without any credentials. */
export type ConnectionFacts =
  | {
      readonly _tag: "Connected"
      /** Of the API server; missing when it showed none. */
      readonly certificate:
        | { readonly subject: string; readonly issuer: string; readonly validity: Validity }
        | undefined
      /**
       * Node's code of why the certificate is not to be trusted, such as `SELF_SIGNED_CERT_IN_CHAIN`; missing: it is.
       */
      readonly distrust: string | undefined
      /** Whether a CA was configured, or the public ones of the system decide. */
      readonly hasOwnAuthority: boolean
      /** The configuration says that nobody is to look at the certificate. */
      readonly unchecked: boolean
    }
  /** `code` of the operating system or of TLS, such as `ECONNREFUSED`; empty when there is none. */
  | { readonly _tag: "Failed"; readonly code: string; readonly detail: string }
  /** The file with the CA cannot be read. */
  | { readonly _tag: "NoAuthority"; readonly detail: string }
  | { readonly _tag: "NotTried"; readonly why: string }

/** One verb of a needed right and what the API server says about it; missing: it could not be asked. */
export interface RightFact {
  readonly right: NeededRight
  readonly verb: string
  readonly allowed: boolean | undefined
}

export interface KindFact {
  readonly group: string
  readonly version: string
  readonly plural: string
  /** `required`: nothing works without it. `usual`: the chart always installs it. */
  readonly need: "required" | "usual"
  /** Versions of the group in which the API server serves it; empty: it serves none. */
  readonly served: Answer<ReadonlyArray<string>>
}

export interface OperatorFacts {
  /** Missing: it serves, and these credentials may not learn more. */
  readonly version: string | undefined
  readonly protocolVersion: string | undefined
  readonly features: ReadonlyArray<string>
}

/** All that was observed of one cluster. Times are epoch ms. */
export interface ClusterFacts {
  readonly name: string
  /** `own`: where the operator runs. */
  readonly part: "own" | "member"
  readonly isDefault: boolean
  /** What the operator is in its own cluster; a member's is not known and not needed. */
  readonly role: Role
  /** Namespace of the operator in this cluster. */
  readonly namespace: string
  readonly server: string
  readonly now: number
  /** What the configuration of this cluster alone has wrong, whole sentences. */
  readonly problems: ReadonlyArray<string>
  readonly connection: ConnectionFacts
  readonly credentials: CredentialFacts
  /** `gitVersion` of the API server. */
  readonly version: Answer<string>
  readonly clock: ClockReading | undefined
  /** Who the API server takes the credentials for. */
  readonly user: Answer<string>
  /** Whose rights were asked for: the same user, or somebody else by name. */
  readonly rightsOf: string | undefined
  readonly rights: ReadonlyArray<RightFact>
  readonly kinds: ReadonlyArray<KindFact>
  readonly operator: Answer<OperatorFacts>
}
