/**
 * How a workload names a queue of SQS: by its name, or by its URL. URLs come from variables that users write, so their
 * hosts are checked: nothing may be sent to another server than AWS' or the configured one.
 *
 * Not here: where workloads have names from.
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { isQueueName } from "./queue-name.ts"

export type QueueAddress =
  | { readonly _tag: "Name"; readonly name: string }
  | {
      readonly _tag: "Url"
      readonly name: string
      /** As it was written. */
      readonly url: string
      /** In lower case, with the port if it is not the scheme's. */
      readonly host: string
      /** `undefined` if the host does not say it, as the configured endpoint's does not. */
      readonly region: string | undefined
      /** The twelve digits of the AWS account; `undefined` if the URL has none. */
      readonly account: string | undefined
    }

/** Hosts of SQS. The label of the region has its form: buckets and other services have hosts in the same domain. */
const ownHosts: ReadonlyArray<RegExp> = [
  /^sqs(?:-fips)?\.([a-z]{2,4}(?:-[a-z]{2,12}){1,2}-[0-9]{1,2})\.(?:amazonaws\.com|amazonaws\.com\.cn|api\.aws)$/u,
  /^([a-z]{2,4}(?:-[a-z]{2,12}){1,2}-[0-9]{1,2})\.queue\.amazonaws\.com(?:\.cn)?$/u,
  // Endpoints in a VPC. Those for services of other owners have no `sqs` there.
  /^vpce-[0-9a-z-]{1,60}\.sqs\.([a-z]{2,4}(?:-[a-z]{2,12}){1,2}-[0-9]{1,2})\.vpce\.amazonaws\.com(?:\.cn)?$/u
]

/** The oldest form, which is of one region alone. */
const oldestHost = "queue.amazonaws.com"

/** The region of one of AWS' hosts for SQS; `undefined` for any other host. */
const regionOf = (host: string): string | undefined => {
  if (host === oldestHost) return "us-east-1"
  for (const own of ownHosts) {
    const found = own.exec(host)?.[1]
    if (found !== undefined) return found
  }
  return undefined
}

const isEndpoint = (url: URL, endpoint: string | undefined): boolean => {
  const configured = endpoint === undefined ? null : URL.parse(endpoint)
  return configured !== null && configured.host === url.host && configured.protocol === url.protocol
}

/**
 * Reads a name or a URL. `endpoint`: URL of a server that stands in for AWS; `undefined` if none is configured. The
 * failure is a sentence without a full stop.
 */
export const parseQueueAddress = (text: string, endpoint: string | undefined): Result.Result<QueueAddress, string> => {
  if (isQueueName(text)) return Result.succeed({ _tag: "Name", name: text })
  const refuse = (problem: string) =>
    Result.fail(`${quoted(text)} ${problem}: give the name or the URL of an SQS queue, as AWS shows it`)
  const url = URL.parse(text)
  if (url === null || !/^https?:$/u.test(url.protocol)) return refuse("is neither a name nor a URL of a queue")
  const [name = "", folder = ""] = url.pathname.split("/").toReversed()
  const isPlain = url.username + url.password === "" && text.endsWith(`/${name}`)
  if (!isQueueName(name) || !isPlain) return refuse("does not end in the name of a queue, or has more than that")
  const found = regionOf(url.host)
  if (found === undefined && !isEndpoint(url, endpoint)) {
    return refuse(`is on the host ${quoted(url.host)}, which is not known to be AWS'`)
  }
  const account = /^[0-9]{12}$/u.test(folder) ? folder : undefined
  if (found !== undefined && account === undefined) return refuse("does not name the account before the queue")
  return Result.succeed({ _tag: "Url", name, url: text, host: url.host, region: found, account })
}

/** The address of another queue beside this one, in the form of this one: a name for a name, a URL for a URL. */
export const renamedQueue = (address: QueueAddress, name: string): string =>
  address._tag === "Name" ? name : `${address.url.slice(0, -address.name.length)}${name}`
