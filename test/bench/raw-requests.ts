/** HTTP requests to an API server with nothing around them, as the base line of benchmarks. */

import type { RequestOptions } from "node:https"
import type { KubeConfig } from "@kubernetes/client-node"
import { Agent, type Dispatcher } from "undici"

/** Requests to the server of a configuration. */
export interface RawRequests {
  readonly send: (
    method: Dispatcher.HttpMethod,
    path: string,
    body?: { readonly type: string; readonly value: object }
  ) => Promise<Dispatcher.ResponseData>
  /** Breaks off all pending requests. */
  readonly close: () => Promise<void>
}

export const rawRequests = async (config: KubeConfig): Promise<RawRequests> => {
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  const agent = new Agent({ connect: { ca: options.ca, cert: options.cert, key: options.key } })
  return {
    send: (method, path, body) =>
      agent.request({
        origin: config.getCurrentCluster()?.server ?? "",
        path,
        method,
        headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": body.type }) },
        body: body === undefined ? null : JSON.stringify(body.value)
      }),
    close: () => agent.destroy()
  }
}
