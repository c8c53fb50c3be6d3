/**
 * All that `braid doctor` observes of a cluster, as plain data. The commands fill it in, and the files beside this
 * judge it: the same facts give the same findings.
 */

import type { Right } from "../../catalogue/right.ts"
import type { MadeAuth } from "../../fleet/credentials/cluster-auth.ts"
import type { TokenClaims } from "../../fleet/credentials/token-claims.ts"
import type { Validity } from "../../fleet/credentials/validity.ts"
import type { Role } from "../../fleet/roles.ts"
import type { ClockReading } from "./clock-skew.ts"

/** The outcome of a request. `detail` is the server's own sentence, or the network's. */
export type Answer<T> =
  | { readonly _tag: "Answered"; readonly value: T }
  | { readonly _tag: "Refused"; readonly code: number; readonly detail: string }
  | { readonly _tag: "NoAnswer"; readonly detail: string }
  /** The request made no sense, because something before it failed. */
  | { readonly _tag: "NotAsked" }

/** The credentials with which the cluster is asked. */
export type CredentialFacts =
  | {
      readonly _tag: "Token"
      readonly from: string
      readonly claims: Pick<TokenClaims, "subject" | "validity"> | undefined
      /** Whether the kubelet replaces the token in time. */
      readonly renewed: boolean
    }
  | { readonly _tag: "Certificate"; readonly from: string; readonly validity: Validity }
  /** There are none, or they cannot be used. Both texts are whole sentences. */
  | { readonly _tag: "Unusable"; readonly problem: string; readonly fix: string }
  /** Credentials that were made: with the operator's identity in a cloud, or by a plugin. */
  | { readonly _tag: "Cloud"; readonly auth: MadeAuth }
  /** Credentials that only the operator can make. */
  | {
      readonly _tag: "CloudOfOperator"
      readonly auth: MadeAuth
      /** The AWS role or Azure client of the operator's service account; empty: none; undefined: not known. */
      readonly identity: string | undefined
      /** The operator's word on the cluster; undefined: there is none. */
      readonly report: { readonly _tag: "Connected" } | { readonly _tag: "Lost"; readonly why: string } | undefined
    }
  /** Everything else that a kubeconfig may hold, such as a program or a password. Nothing says when it ends. */
  | { readonly _tag: "Other"; readonly from: string }

/** Whether there is anything that a request could carry. */
export const areUsable = ({ _tag }: CredentialFacts): boolean => _tag !== "Unusable" && _tag !== "CloudOfOperator"

/** The outcome of connecting, before any credentials are shown. */
export type ConnectionFacts =
  | {
      readonly _tag: "Connected"
      /** The API server's certificate; undefined if it showed none. */
      readonly certificate:
        | { readonly subject: string; readonly issuer: string; readonly validity: Validity }
        | undefined
      /** Node's code for a certificate that is not trusted, such as `SELF_SIGNED_CERT_IN_CHAIN`; undefined: trusted. */
      readonly distrust: string | undefined
      /** Whether a CA is configured. Without it the public CAs of the system decide. */
      readonly hasOwnAuthority: boolean
      /** The configuration says that the certificate is not checked. */
      readonly unchecked: boolean
    }
  /** `code` of the operating system or of TLS, such as `ECONNREFUSED`; may be empty. */
  | { readonly _tag: "Failed"; readonly code: string; readonly detail: string }
  /** The file with the CA cannot be read. */
  | { readonly _tag: "NoAuthority"; readonly detail: string }
  | { readonly _tag: "NotTried"; readonly why: string }

/** One verb of a needed right. */
export interface RightFact {
  readonly right: Right
  readonly verb: string
  /** The API server's answer; undefined if it could not be asked. */
  readonly allowed: boolean | undefined
}

/** One custom resource, and in which versions it is served. */
export interface KindFact {
  readonly group: string
  readonly version: string
  readonly plural: string
  /** `required`: nothing works without it. `usual`: the chart always installs it. */
  readonly need: "required" | "usual"
  /** Versions in which the API server serves the kind; empty: the kind is not installed. */
  readonly served: Answer<ReadonlyArray<string>>
}

/** An operator's answer about itself. */
export interface OperatorFacts {
  /** Undefined: the operator serves, but these credentials may not read its object. */
  readonly version: string | undefined
  readonly protocolVersion: string | undefined
  readonly features: ReadonlyArray<string>
  /** Why a primary does not use its changed configuration; `undefined` if it does. */
  readonly refusedConfiguration?: string | undefined
  /** Which collections the operator cannot read, and why; `undefined` if it reads all. */
  readonly unreadCollections?: string | undefined
  /** Members that a primary does not use, as another cluster answers under their name; clauses, by name. */
  readonly refusedIdentities?: Readonly<Record<string, string>>
}

/** All that was observed of one cluster. Times are epoch ms. */
export interface ClusterFacts {
  readonly name: string
  /** `own`: the cluster that the operator runs in. The report's JSON has the same words. */
  readonly part: "own" | "member"
  readonly isDefault: boolean
  /** The role of the operator in its own cluster. The role of a member's operator is neither known nor needed. */
  readonly role: Role
  /** Namespace of the operator in this cluster. */
  readonly namespace: string
  readonly server: string
  readonly now: number
  /** Mistakes in the configuration of this cluster, as whole sentences. */
  readonly problems: ReadonlyArray<string>
  readonly connection: ConnectionFacts
  readonly credentials: CredentialFacts
  /** `gitVersion` of the API server. */
  readonly version: Answer<string>
  readonly clock: ClockReading | undefined
  /** The user name that the API server sees behind the credentials. */
  readonly user: Answer<string>
  /** The user whose rights were asked for; undefined: the user of the credentials. */
  readonly rightsOf: string | undefined
  readonly rights: ReadonlyArray<RightFact>
  readonly kinds: ReadonlyArray<KindFact>
  readonly operator: Answer<OperatorFacts>
}
