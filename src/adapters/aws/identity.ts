/**
 * The AWS identity of this process, and requests that are presigned with it, all by the AWS SDK. Loaded only when a
 * cluster is `eks` (eks-tokens.ts) or queues are split (sqs-queues.ts): the SDK takes memory.
 *
 * Not here: when a token is made.
 */

import type { Agent } from "node:http"
import type { Agent as TlsAgent } from "node:https"
import { fromHttp } from "@aws-sdk/credential-provider-http"
import { defaultProvider } from "@aws-sdk/credential-provider-node"
import { partition } from "@aws-sdk/util-endpoints"
import { Hash } from "@smithy/core/serde"
import { SignatureV4 } from "@smithy/signature-v4"

/** How long connecting to STS, and its answer, may take, ms. The SDK asks all else for a second. */
const patience = {
  connectionTimeout: 5_000,
  requestTimeout: 10_000,
  socketTimeout: 10_000,
  // Otherwise the SDK warns and waits on.
  throwOnRequestTimeout: true
}
/** Credentials with less left are asked for again, ms. The SDK looks at this machine's clock, which may be wrong. */
const minLeft = 300_000
/** As EKS's own clients say, in s; STS and EKS ignore it, and take the request for 15 min. */
const expiresIn = 60

/** `date`: epoch ms, by the clock of AWS. `isRenewed`: whether the identity is found again, as after new keys. */
export interface PresignOptions {
  readonly isRenewed?: boolean
  readonly clusterName: string
  readonly region: string
  readonly date: number
}

export interface PresignedIdentity {
  readonly url: string
  /** The end of the credentials with which it is signed, epoch ms by the clock of AWS; undefined: never. */
  readonly identityEnds: number | undefined
}

/** The agent that gives this pod its Pod Identity gave none. `hasAnswered`: `code` and `message` are its words. */
export class PodIdentityError extends Error {
  readonly code: string
  readonly hasAnswered: boolean
  constructor(reason: Error & { readonly Code?: unknown; readonly Message?: unknown }) {
    super(typeof reason.Message === "string" ? reason.Message : reason.message)
    this.code = typeof reason.Code === "string" ? reason.Code : reason.name
    this.hasAnswered = reason.message.startsWith("Server responded")
  }
}

/** The SDK tries one more way after the agent, and would report that way alone. */
const reasonOf = async (cause: unknown): Promise<unknown> => {
  const isOfAgent = (process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] ?? "") !== ""
  const isLast = cause instanceof Error && cause.name === "CredentialsProviderError"
  if (!isOfAgent || !isLast) return cause
  try {
    await fromHttp({ maxRetries: 0 })()
    return cause
  } catch (reason) {
    return reason instanceof Error ? new PodIdentityError(reason) : cause
  }
}

/** Connections of the SDK; its own way, without a proxy, where there is none. */
export interface Agents {
  readonly httpAgent?: Agent
  readonly httpsAgent?: TlsAgent
}

/**
 * A function that finds the identity, as the SDK does: in the environment, by IRSA, in shared files, by a Pod Identity
 * or an instance's profile. It rejects with the SDK's error. `agents`: for connections to STS.
 */
export const identityFinder = (agents: Agents = {}) => {
  const identity = defaultProvider({ ignoreCache: true, clientConfig: { requestHandler: { ...patience, ...agents } } })
  return (options?: Parameters<typeof identity>[0]) =>
    identity(options).catch(async (cause: unknown) => {
      throw await reasonOf(cause)
    })
}

/**
 * A function that presigns STS `GetCallerIdentity` for an EKS cluster, with {@link identityFinder}, and fails as that
 * does.
 */
export const identityPresigner = () => {
  const find = identityFinder()
  return async ({ clusterName, date, isRenewed = false, region }: PresignOptions): Promise<PresignedIdentity> => {
    const isEnding = ({ expiration }: { readonly expiration?: Date }): boolean =>
      expiration !== undefined && expiration.getTime() - date < minLeft
    const known = await find()
    const credentials = isRenewed || isEnding(known) ? await find({ forceRefresh: true }) : known
    const hostname = `sts.${region}.${partition(region).dnsSuffix}`
    const signer = new SignatureV4({ credentials, region, service: "sts", sha256: Hash.bind(null, "sha256") })
    const { query = {} } = await signer.presign(
      {
        method: "GET",
        protocol: "https:",
        hostname,
        path: "/",
        query: { Action: "GetCallerIdentity", Version: "2011-06-15" },
        headers: { host: hostname, "x-k8s-aws-id": clusterName }
      },
      { expiresIn, signingDate: new Date(date) }
    )
    const url = new URL(`https://${hostname}/`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value))
    // The end may be what a variable of the environment says, such as no date at all.
    const ends = credentials.expiration?.getTime()
    return { url: url.href, identityEnds: Number.isFinite(ends) ? ends : undefined }
  }
}
