/**
 * The options that the AWS SDK's clients of all services have in common: they ask once, by the operator's proxy, and
 * sign with the identity of this process.
 *
 * Loaded only when a client is made: the SDK takes memory.
 */

import { partition } from "@aws-sdk/util-endpoints"
import { proxyFor } from "../../domain/fleet/proxy.ts"
import { proxyAgent } from "../stream/proxy-agent.ts"
import { identityProblem } from "./identity-problem.ts"
import { identityFinder } from "./identity.ts"
import { NoIdentityError } from "./no-identity-error.ts"

/** How long connecting may take, ms. */
const connectionTimeout = 5_000
/** Kept, and without a bound: each poll has a connection of its own, and no send may wait for it. */
const connections = { keepAlive: true, maxSockets: Infinity }

/** Where a service is. */
export interface ClientPlace {
  /** `undefined`: the one that the SDK finds in the environment or in AWS' configuration files. */
  readonly region: string | undefined
  /** URL of a server that stands in for AWS, which the SDK reads from the same variables; `undefined` without. */
  readonly endpoint: string | undefined
}

/** Options of a client. `service`: as hosts of AWS name it. */
export const clientOptions = (service: "s3" | "sqs", { endpoint, region }: ClientPlace) => {
  const { dnsSuffix } = partition(region ?? "")
  const proxy = proxyFor(endpoint ?? `https://${service}.${region ?? ""}.${dnsSuffix}`, process.env)
  const agent = proxyAgent(proxy, connections)
  const agents = agent === undefined ? {} : { httpAgent: agent, httpsAgent: agent }
  const find = identityFinder(agents)
  return {
    ...(region !== undefined && { region }),
    maxAttempts: 1,
    requestHandler: { connectionTimeout, httpAgent: connections, httpsAgent: connections, ...agents },
    credentials: (options?: Parameters<typeof find>[0]) =>
      find(options).catch((cause: unknown) => {
        throw new NoIdentityError(identityProblem(cause))
      })
  }
}
