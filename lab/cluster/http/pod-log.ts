/**
 * Serves `GET pods/<name>/log`: refuses what an API server refuses by itself; the lines come from the kubelet.
 */

import { asObjects, asString, at } from "../../../src/domain/json.ts"
import type { ResourceInfo } from "../schema/resource-info.ts"
import { badRequest, forbiddenField, invalid, invalidValue, notFound } from "../wire/status-error.ts"
import type { PodLogOptions, ResourceRequest, ServerContext } from "./server-context.ts"

const numberOf = (query: URLSearchParams, name: string): number | undefined => {
  const text = query.get(name)
  return text === null ? undefined : Number(text)
}

const sinceOf = (query: URLSearchParams, now: number): number | undefined => {
  const seconds = numberOf(query, "sinceSeconds")
  const time = query.get("sinceTime")
  if (time !== null) return Math.floor(Date.parse(time) / 1_000) * 1_000
  return seconds === undefined ? undefined : now - seconds * 1_000
}

/** Reads the options; throws 422 for those that a real server refuses. */
const readOptions = (query: URLSearchParams, pod: string, now: number): PodLogOptions => {
  const tailLines = numberOf(query, "tailLines")
  const seconds = numberOf(query, "sinceSeconds")
  const hasBoth = seconds !== undefined && query.has("sinceTime")
  const problems = [
    ...(tailLines !== undefined && tailLines < 0
      ? [invalidValue("tailLines", tailLines, "must be greater than or equal to 0")]
      : []),
    ...(hasBoth ? [forbiddenField("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified")] : []),
    ...(!hasBoth && seconds !== undefined && seconds < 1
      ? [invalidValue("sinceSeconds", seconds, "must be greater than 0")]
      : [])
  ]
  if (problems.length > 0) throw invalid({ group: "", kind: "PodLogOptions" }, pod, problems)
  const since = sinceOf(query, now)
  return {
    follow: query.get("follow") === "true",
    previous: query.get("previous") === "true",
    timestamps: query.get("timestamps") === "true",
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(since === undefined ? {} : { since })
  }
}

const containerOf = (pod: object, name: string, query: URLSearchParams): string => {
  const namesOf = (field: string): ReadonlyArray<string> =>
    asObjects(at(pod, "spec", field)).map((item) => asString(item["name"]) ?? "")
  const containers = namesOf("containers")
  const container = query.get("container") ?? (containers.length === 1 ? containers[0] : undefined)
  if (container === undefined)
    throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${containers.join(" ")}]`)
  if (![...containers, ...namesOf("initContainers"), ...namesOf("ephemeralContainers")].includes(container))
    throw badRequest(`container ${container} is not valid for pod ${name}`)
  return container
}

/** Sends the log of a container, as plain text. A pod without a node has no log, which is no error (204). */
export const serveLog = async (
  context: ServerContext,
  { access, query, res }: ResourceRequest,
  info: ResourceInfo
): Promise<void> => {
  const options = readOptions(query, access.name, context.now())
  const pod = context.store.get(info, access.namespace, access.name)
  if (pod === undefined) throw notFound(info, access.name)
  const container = containerOf(pod, access.name, query)
  if (at(pod, "spec", "nodeName") === undefined) return void res.writeHead(204).end()
  const lines = context.podLogs()?.(access.namespace, access.name, container, options)
  if (lines === undefined)
    throw badRequest(`container "${container}" in pod "${access.name}" is waiting to start: ContainerCreating`)
  if (typeof lines === "string") throw badRequest(lines)
  res.writeHead(200, { "Content-Type": "text/plain" })
  res.flushHeaders()
  const iterator = lines[Symbol.asyncIterator]()
  res.on("close", () => void iterator.return?.())
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
    if (res.destroyed) return
    const line = next.value.endsWith("\n") ? next.value : `${next.value}\n`
    if (!res.write(line)) await new Promise<void>((resolve) => res.once("drain", resolve).once("close", resolve))
  }
  res.end()
}
