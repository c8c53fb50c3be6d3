import { spawnSync } from "node:child_process"
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, it } from "vitest"

const script = fileURLToPath(new URL("../../scripts/kubernetes.mjs", import.meta.url))
const programs = ["etcd", "helm", "kube-apiserver", "kube-controller-manager", "kubectl"]

describe("scripts/kubernetes.mjs", () => {
  let folder = ""
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "braid-kubernetes-script-"))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  /** A folder of programs that call themselves this version. */
  const install = (name: string, version: string, which: ReadonlyArray<string> = programs): string => {
    const path = join(folder, name)
    mkdirSync(path)
    for (const program of which) {
      writeFileSync(join(path, program), `#!/bin/sh\necho "${program} v${version}"\n`)
      chmodSync(join(path, program), 0o755)
    }
    return path
  }
  const run = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
    const { status, stderr, stdout } = spawnSync(process.execPath, [script, ...args], {
      env: { PATH: "/usr/bin:/bin", BRAID_CACHE: join(folder, "cache"), ...env },
      encoding: "utf8"
    })
    return { status, stderr, last: stdout.trimEnd().split("\n").at(-1) }
  }

  it("links what KUBEBUILDER_ASSETS and PATH have in the version, and does nothing the next time", () => {
    const assets = install("assets", "1.34.4", ["etcd", "kube-apiserver", "kubectl"])
    const path = install("path", "1.34.4", ["kube-controller-manager", "helm"])
    const made = join(folder, "cache", "kubernetes", "1.34.4")
    expect(run(["--version", "1.34.4"], { KUBEBUILDER_ASSETS: assets, PATH: `${path}:/usr/bin:/bin` })).toMatchObject({
      status: 0,
      last: made
    })
    expect(readdirSync(made)).toEqual(programs)
    expect(programs.every((name) => lstatSync(join(made, name)).isSymbolicLink())).toBe(true)
    expect(run(["--version", "1.34.4"])).toMatchObject({ status: 0, last: made, stderr: "" })
  })

  it("takes none of another version, and says what to install where it can build nothing", () => {
    const assets = install("assets", "1.29.0")
    const { status, stderr } = run([], { KUBEBUILDER_ASSETS: assets })
    expect(status).toBe(1)
    expect(stderr).toContain(
      "neither KUBEBUILDER_ASSETS nor PATH has kube-apiserver, kube-controller-manager, kubectl for Kubernetes " +
        "1.36.3, and Go, which builds them, is missing: install Go"
    )
  })

  it("takes an older kubectl beside a control plane that was built before", () => {
    const assets = install("assets", "1.36.3")
    expect(run([], { KUBEBUILDER_ASSETS: assets }).status).toBe(0)
    const older = install("older", "1.29.15", ["kubectl"])
    const { last, status } = run(["--kubectl", "1.29.15"], { KUBEBUILDER_ASSETS: older })
    expect([status, last]).toEqual([0, join(folder, "cache", "kubernetes", "1.36.3-kubectl-1.29.15")])
    const linked = (name: string) => realpathSync(join(String(last), name))
    expect(linked("kubectl")).toBe(join(older, "kubectl"))
    expect(linked("kube-apiserver")).toBe(join(assets, "kube-apiserver"))
  })

  it("takes no helm, installed or built before, that refuses the chart where it can ask no cluster", () => {
    const assets = install("assets", "1.34.4")
    expect(run(["--version", "1.34.4"], { KUBEBUILDER_ASSETS: assets }).status).toBe(0)
    writeFileSync(join(assets, "helm"), '#!/bin/sh\necho "chart requires kubeVersion" >&2\nexit 1\n')
    const { status, stderr } = run(["--version", "1.34.4"], { KUBEBUILDER_ASSETS: assets })
    expect(status).toBe(1)
    expect(stderr).toContain("neither KUBEBUILDER_ASSETS nor PATH has helm for Kubernetes 1.34.4, and Go")
  })

  it("names what it does not know", () => {
    expect(run(["--version", "1.2.3"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("--version 1.2.3 is not one that tests know: 1.34.4, 1.36.3") as string
    })
    expect(run(["--kubectl", "1.2.3"]).stderr).toContain("--kubectl 1.2.3 is not one that tests know: 1.29.15")
    expect(run(["--verion", "1.34.4"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("--verion") as string
    })
  })
})
