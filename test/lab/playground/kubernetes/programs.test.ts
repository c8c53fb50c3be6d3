/** Finding the programs of a control plane, in folders that the test makes. */

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import {
  cacheFolder,
  defaultVersion,
  findPrograms,
  isMissing,
  missingPrograms,
  programNames
} from "../../../../lab/playground/kubernetes/programs.ts"

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "programs-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const program = (place: string, name: string, mode = 0o755): string => {
  mkdirSync(join(folder, place), { recursive: true })
  const file = join(folder, place, name)
  writeFileSync(file, "")
  chmodSync(file, mode)
  return file
}

it("are found in KUBEBUILDER_ASSETS before PATH before what was built here", () => {
  const cache = `cache/kubernetes/${defaultVersion}`
  const env = {
    KUBEBUILDER_ASSETS: join(folder, "assets"),
    PATH: `${join(folder, "none")}:${join(folder, "bin")}`,
    BRAID_CACHE: join(folder, "cache")
  }
  for (const name of programNames) program(cache, name)
  for (const name of ["helm", "etcd"]) program("bin", name)
  program("assets", "etcd")
  expect(findPrograms(env)).toEqual({
    etcd: join(folder, "assets/etcd"),
    helm: join(folder, "bin/helm"),
    "kube-apiserver": join(folder, cache, "kube-apiserver"),
    "kube-controller-manager": join(folder, cache, "kube-controller-manager"),
    kubectl: join(folder, cache, "kubectl")
  })
})

it("those that are nowhere, or cannot be run, are named with what makes them", () => {
  for (const name of programNames) program("bin", name, name === "kubectl" ? 0o644 : 0o755)
  mkdirSync(join(folder, "assets/kubectl"), { recursive: true })
  const found = findPrograms({
    KUBEBUILDER_ASSETS: join(folder, "assets"),
    PATH: join(folder, "bin"),
    BRAID_CACHE: folder
  })
  if (!isMissing(found)) throw new Error("kubectl was found")
  expect(found).toEqual(["kubectl"])
  expect(missingPrograms(found)).toBe(
    "kubectl found neither in KUBEBUILDER_ASSETS nor in PATH: `npm run kubernetes` builds what is missing, once"
  )
})

it("are built into a folder of the user, unless BRAID_CACHE says another one", () => {
  expect(cacheFolder("1.2.3", { BRAID_CACHE: "/cache" })).toBe("/cache/kubernetes/1.2.3")
  expect(cacheFolder("1.2.3", {})).toMatch(/\/\.cache\/braid\/kubernetes\/1\.2\.3$/u)
})
