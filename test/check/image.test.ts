import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { image } from "../../scripts/image.mjs"
import { version } from "../../src/app/kernel/version.ts"
import { describeWith } from "../support/describe-with.ts"
import { ownMounts } from "../support/outside-programs.ts"
import { asUser } from "./as-user.ts"
import { all, build, configOf, readContainerfile } from "./containerfile.ts"
import { runProgram } from "./run-program.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

const { build: first, final } = readContainerfile(root)

describe("the image", () => {
  let folder = ""
  /** The working folder of the build stage. */
  let workshop = ""
  /** The final image's root, as far as it comes from us. */
  let system = ""
  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "braid-image-")))
    chmodSync(folder, 0o755)
    workshop = join(folder, "build")
    system = join(folder, "root")
    await build(root, { system, workshop })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it("is built in two stages, the second without a shell, for a user who is not root", () => {
    expect([first, final].map((stage) => stage[0]?.text)).toEqual([`${image.builder} AS build`, image.base])
    expect(image.base).toMatch(/^gcr\.io\/distroless\/nodejs24-\w+:nonroot$/u)
    expect(all(first, "RUN")).toEqual(["npm ci --ignore-scripts", "npm run build"])
    expect(all(final, "RUN")).toEqual([])
    expect(all(final, "USER")).toEqual(["65532:65532"])
    expect(all(final, "ENV")).toEqual(["MALLOC_ARENA_MAX=2"])
    const heap = ["--max-old-space-size-percentage=40", "--max-semi-space-size=2", "--heap-growing-percent=100"]
    expect(all(final, "ENTRYPOINT").map((words) => JSON.parse(words))).toEqual([
      ["/nodejs/bin/node", ...heap, "/app/braid.mjs"]
    ])
  })

  it("holds the bundled program, the licences and nothing else", () => {
    const names = readdirSync(join(system, image.root))
    expect(names).toEqual(expect.arrayContaining(["LICENSE", "THIRD-PARTY-LICENSES", "braid.mjs", "jq-worker.mjs"]))
    expect(names.filter((name) => !/^(?:LICENSE|THIRD-PARTY-LICENSES|[\w-]+\.mjs)$/u.test(name))).toEqual([])
  })

  it("has the programs of database engines in its bundle", () => {
    const folder = join(system, image.root)
    const names = readdirSync(folder).filter((name) => name.endsWith(".mjs"))
    const text = names.map((name) => readFileSync(join(folder, name), "utf8")).join("")
    for (const line of ["mariadb-install-db --defaults-file=", "pg_ctl --pgdata=", "function hideWord("])
      expect(text).toContain(line)
  })

  it("names the licence of each package that is needed, and of none of the workshop", () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Readonly<
      Record<string, Readonly<Record<string, string>>>
    >
    const licences = readFileSync(join(system, image.root, "THIRD-PARTY-LICENSES"), "utf8")
    const named = (name: string): boolean => licences.includes(`# ${name} `)
    expect(Object.keys(dependencies ?? {}).filter((name) => !named(name))).toEqual([])
    expect(Object.keys(devDependencies ?? {}).filter(named)).toEqual([])
    expect(licences).toContain("Permission is hereby granted")
  })

  it("can be read by everybody and written by nobody but its owner", () => {
    const wrong = readdirSync(system, { recursive: true, withFileTypes: true }).flatMap((entry) => {
      const path = join(entry.parentPath, entry.name)
      const wanted = entry.isDirectory() ? 0o755 : 0o644
      return entry.isSymbolicLink() || (statSync(path).mode & 0o777) !== wanted ? [path] : []
    })
    expect(wrong).toEqual([])
  })

  it("is not staged over something that is there, nor from packages of another version", async () => {
    const run = (args: ReadonlyArray<string>) =>
      runProgram(process.execPath, ["scripts/build.mjs", ...args], { cwd: workshop })
    expect(await run(["--out", "src"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("--out src: it exists") as string
    })
    expect(await run(["--output", "x"])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("--output") as string
    })
    const lock = join(workshop, "package-lock.json")
    writeFileSync(
      lock,
      readFileSync(lock, "utf8").replace(/("node_modules\/yaml": \{\s+"version": ")[^"]*/u, "$19.9.9")
    )
    expect(await run(["--out", "other"])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /node_modules\/yaml: package-lock\.json has 9\.9\.9, there is .*; run npm ci/u
      ) as string
    })
    expect(readdirSync(workshop).filter((name) => name.includes("other"))).toEqual([])
  })

  describeWith(["mounts"], "started on a read-only root, without a shell, as its user", () => {
    beforeAll(async () => {
      // Everything else that distroless has for Node: the program and its libraries.
      const report = await runProgram(process.execPath, [
        "-p",
        "process.report.excludeNetwork = true; JSON.stringify(process.report.getReport().sharedObjects)"
      ])
      const libraries = (JSON.parse(report.stdout) as ReadonlyArray<string>).filter(
        (path) => path.startsWith("/") && path !== process.execPath
      )
      for (const [from, to] of [
        [process.execPath, image.node] as const,
        ...libraries.map((path) => [path, path] as const)
      ]) {
        mkdirSync(dirname(join(system, to)), { recursive: true })
        copyFileSync(realpathSync(from), join(system, to))
        chmodSync(join(system, to), 0o755)
      }
      // Folders that the container's runtime and the chart mount.
      for (const name of ["dev", "proc", "tmp", "mirrord-config"]) mkdirSync(join(system, name))
      writeFileSync(
        join(system, "mirrord-config", "multicluster-config.yaml"),
        "clusterName: primary\ndefaultCluster: staging\nmanagementOnly: true\n"
      )
      writeFileSync(
        join(system, "mirrord-config", "clusters-config.yaml"),
        "clusters:\n  - name: cluster-a\n    server: https://a.example.com:6443\n    authType: token\n"
      )
    })

    const mounts = [
      'mount --bind "$0" "$0"',
      'mount -o remount,bind,ro "$0"',
      'mount --rbind /dev "$0/dev"',
      'mount --rbind /proc "$0/proc"',
      'mount -t tmpfs -o mode=1777 tmpfs "$0/tmp"',
      'exec "$@"'
    ].join(" && ")
    const run = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
      const inside = ["unshare", ...asUser(image.user), `--root=${system}`, `--wd=${image.root}`, ...args]
      return runProgram("unshare", [...ownMounts, "sh", "-c", mounts, system, ...inside], {
        env: { PATH: process.env["PATH"] ?? "", ...env }
      })
    }
    const entrypoint = configOf(final).Entrypoint

    it("is what it says: the user, no writing, no shell", async () => {
      const tried = `
        const { writeFileSync } = require("node:fs")
        const trying = (file) => {
          try { writeFileSync(file, ""); return "written" } catch (error) { return error.code }
        }
        const shell = require("node:child_process").spawnSync("/bin/sh", ["-c", "true"]).error?.code
        const written = ["/app/x", "/x", "/tmp/x"].map(trying)
        console.log(JSON.stringify([process.getuid(), process.getgid(), ...written, shell]))`
      const { stdout, stderr } = await run([image.node, "-e", tried])
      expect([stdout.trim(), stderr]).toEqual([
        JSON.stringify([65532, 65532, "EROFS", "EROFS", "written", "ENOENT"]),
        ""
      ])
    })

    it("says its version", async () => {
      expect(await run([...entrypoint, "--version"])).toEqual({
        status: 0,
        stdout: expect.stringContaining(version) as string,
        stderr: ""
      })
    })

    it("refuses a configuration with the operator's sentences", async () => {
      const { status, stderr } = await run([...entrypoint, "operator"], {
        MIRRORD_MULTICLUSTER_CONFIG: "/mirrord-config/multicluster-config.yaml",
        MIRRORD_CLUSTERS_CONFIG: "/mirrord-config/clusters-config.yaml"
      })
      expect(status).toBe(2)
      expect(stderr).toContain("braid: the configuration cannot be used:\n")
      expect(stderr).toContain(
        'this authType does not exist (found "token"); write one of bearerToken, eks, aks, mtls, outbound.'
      )
    })

    it("has whatever each command loads", async () => {
      const loading = `
        import { readdirSync } from "node:fs"
        const parts = readdirSync("/app").filter((name) => name.endsWith(".mjs") && name !== "${image.entry}")
        for (const part of parts) await import("/app/" + part)
        console.log(JSON.stringify(parts))`
      const { status, stdout, stderr } = await run([image.node, "--input-type=module", "-e", loading])
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
      const loaded = readFileSync(join(root, image.program), "utf8").matchAll(/import\(".*\/([\w-]+)\.ts"\)/gu)
      const commands = Array.from(loaded, ([, name]) => `${name}.mjs`)
      expect(commands).toContain("operator-command.mjs")
      // Parts that are shared stand in the program itself, which says its help when it is loaded.
      const parts = stdout.split("\n").find((line) => line.startsWith("[")) ?? "[]"
      expect(JSON.parse(parts)).toEqual(expect.arrayContaining(commands))
    })
  })
})
