/** A node for the pods of a suite: their networks and their container runtime. Everything ends with the suite. */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { ContainerRuntime } from "./container-runtime.ts"
import { PodNetworks } from "./pod-networks.ts"

export interface PodNode {
  readonly networks: PodNetworks
  readonly runtime: ContainerRuntime
}

/** Starts a node before the tests of the calling `describe`; ends it after them, and after later hooks of this kind. */
export const usePodNode = (): (() => PodNode) => {
  let directory = ""
  let started: Partial<PodNode> = {}
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "braid-pods-"))
    const runtime = new ContainerRuntime(join(directory, "docker.sock"))
    await runtime.start()
    started = { runtime }
    started = { runtime, networks: await PodNetworks.start(directory) }
  })
  afterAll(async () => {
    started.runtime?.stop()
    await started.networks?.stop()
    rmSync(directory, { recursive: true, force: true })
  })
  return () => {
    const { networks, runtime } = started
    if (networks === undefined || runtime === undefined) throw new Error("the node of the pods has not been started")
    return { networks, runtime }
  }
}
