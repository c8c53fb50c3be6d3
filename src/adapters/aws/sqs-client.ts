/**
 * The AWS SDK's client for the queues of SQS in one region. Loaded only when a queue is used (sqs-queues.ts): the SDK
 * takes memory.
 */

import { SQS } from "@aws-sdk/client-sqs"
import { partition } from "@aws-sdk/util-endpoints"
import { proxyFor } from "../../domain/fleet/proxy.ts"
import { proxyAgent } from "../stream/proxy-agent.ts"
import { identityProblem } from "./identity-problem.ts"
import { identityFinder } from "./identity.ts"
import { NoIdentityError } from "./sqs-failure.ts"

/** How long connecting may take, ms. */
const connectionTimeout = 5_000
/** Kept, and without a bound: each poll has a connection of its own, and no send may wait for it. */
const connections = { keepAlive: true, maxSockets: Infinity }

/** Where queues are. */
export interface SqsPlace {
  /** `undefined`: the one that the SDK finds in the environment or in AWS' configuration files. */
  readonly region: string | undefined
  /** URL of a server that stands in for AWS, which the SDK reads from the same variables; `undefined` without. */
  readonly endpoint: string | undefined
}

/** A client that asks once, and signs with the identity of this process. */
export const sqsClient = ({ endpoint, region }: SqsPlace): SQS => {
  const { dnsSuffix } = partition(region ?? "")
  const proxy = proxyFor(endpoint ?? `https://sqs.${region ?? ""}.${dnsSuffix}`, process.env)
  const agent = proxyAgent(proxy, connections)
  const agents = agent === undefined ? {} : { httpAgent: agent, httpsAgent: agent }
  const find = identityFinder(agents)
  return new SQS({
    ...(region !== undefined && { region }),
    maxAttempts: 1,
    // The URL comes from users' variables, and the request would go to whatever host it names.
    useQueueUrlAsEndpoint: false,
    requestHandler: { connectionTimeout, httpAgent: connections, httpsAgent: connections, ...agents },
    credentials: (options) =>
      find(options).catch((cause: unknown) => {
        throw new NoIdentityError(identityProblem(cause))
      })
  })
}
