import { createHash } from "node:crypto"
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, it } from "vitest"
import { installedPrograms } from "../../lab/playground/kubernetes/programs.ts"
import { image } from "../../scripts/image.mjs"
import { version } from "../../src/app/kernel/version.ts"
import { describeWith } from "../support/describe-with.ts"
import { ownMounts } from "../support/outside-programs.ts"
import { asUser } from "./as-user.ts"
import { build, configOf, readContainerfile } from "./containerfile.ts"
import { runProgram } from "./run-program.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

interface DockerManifest {
  readonly Config: string
  readonly Layers: ReadonlyArray<string>
}

// Today's packages of Debian, since those that are pinned go with the next point release; a release takes the pins.
describeWith(["mounts", "Debian's packages", "helm"], "the files of a release", () => {
  let folder = ""
  let copy = ""
  let archive = ""
  let files = ""
  let system = ""
  let config: Readonly<Record<string, unknown>> = {}
  let layers: ReadonlyArray<string> = []
  let printed = ""
  const must = async (command: string, args: ReadonlyArray<string>, cwd = copy): Promise<string> => {
    const { status, stderr, stdout } = await runProgram(command, args, { cwd })
    if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}:\n${stderr}`)
    return stdout
  }
  const git = (...args: ReadonlyArray<string>) =>
    must("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", ...args])
  const unpack = (archive: string, target: string) => {
    mkdirSync(target, { recursive: true })
    return must("tar", ["--extract", "--file", archive, "--directory", target])
  }

  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "braid-release-files-")))
    copy = join(folder, "copy")
    system = join(folder, "root")
    files = join(copy, "dist/release")
    // As it is here, committed or not, but for changes that wait for the next release.
    const listed = await must("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], root)
    const isReleased = (name: string): boolean => !/^changelog\.d\/(?!README\.md$)./u.test(name)
    const isCopied = (name: string): boolean => name !== "" && isReleased(name) && existsSync(join(root, name))
    for (const file of listed.split("\0").filter(isCopied)) {
      mkdirSync(dirname(join(copy, file)), { recursive: true })
      copyFileSync(join(root, file), join(copy, file))
    }
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
    appendFileSync(join(copy, ".gitignore"), "node_modules\n")
    await git("init", "--quiet")
    await git("add", "--all")
    await git("commit", "--quiet", "--message", "All")
    const first = join(folder, "first.tar")
    printed = (await must(process.execPath, ["scripts/make-image.mjs", "--update", "--out", first])).trim()
    // Both images are of one commit, which the new pins would change.
    await git("update-index", "--assume-unchanged", "scripts/image/base-packages.json")
    await must(process.execPath, ["scripts/release.mjs"])

    archive = join(folder, "archive")
    await unpack(join(files, `braid-${version}.oci.tar`), archive)
    const [docker] = JSON.parse(readFileSync(join(archive, "manifest.json"), "utf8")) as ReadonlyArray<DockerManifest>
    layers = docker?.Layers ?? []
    const described = JSON.parse(readFileSync(join(archive, docker?.Config ?? ""), "utf8")) as {
      readonly config: Readonly<Record<string, unknown>>
    }
    config = described.config
    for (const layer of layers) await unpack(join(archive, layer), system)
    for (const name of ["dev", "proc"]) mkdirSync(join(system, name))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** Runs a program in the image as its user, with a root that cannot be written. */
  const run = (args: ReadonlyArray<string>) => {
    const mounts = [
      'mount --bind "$0" "$0"',
      'mount -o remount,bind,ro "$0"',
      'mount --rbind /dev "$0/dev"',
      'mount --rbind /proc "$0/proc"',
      'exec "$@"'
    ].join(" && ")
    const inside = ["unshare", ...asUser(image.user), `--root=${system}`, `--wd=${image.root}`, ...args]
    return runProgram("unshare", [...ownMounts, "sh", "-c", mounts, system, ...inside])
  }

  it("are an image, a chart, the commands, a bill of materials, notes and right checksums", async () => {
    const names = [
      "NOTES.md",
      `braid-${version}.cdx.json`,
      `braid-${version}.oci.tar`,
      `braid-cli-${version}.tgz`,
      `mirrord-operator-${version}.tgz`
    ]
    expect(readdirSync(files).toSorted()).toEqual([...names, "SHA256SUMS"].toSorted())
    const checked = await must("sha256sum", ["--check", "--strict", "SHA256SUMS"], files)
    expect(checked.trim().split("\n").toSorted()).toEqual(names.map((name) => `${name}: OK`).toSorted())
    expect(readFileSync(join(files, "NOTES.md"), "utf8")).toContain("\n### Added\n")
  })

  it("have the image that was made before of the same commit: one digest", () => {
    const index = JSON.parse(readFileSync(join(archive, "index.json"), "utf8")) as {
      readonly manifests: ReadonlyArray<{ readonly digest: string }>
    }
    expect(printed).toMatch(/^sha256:[0-9a-f]{64}$/u)
    expect(index.manifests.map(({ digest }) => digest)).toEqual([printed])
    expect(layers).toHaveLength(3)
  })

  it("have a chart that names its image by digest, unless another image is wanted", async () => {
    const named = `ghcr.io/braid-operator/braid:${version}@${printed}`
    const chart = join(files, `mirrord-operator-${version}.tgz`)
    const [helm = ""] = installedPrograms("helm", process.env)
    const render = (...args: ReadonlyArray<string>) =>
      must(helm, ["template", "--namespace", "x", "braid", chart, ...args])
    const rendered = await render()
    expect(rendered).toContain(`image: "${named}"`)
    const [own, other] = [
      await render("--set", "operator.imageTag=x"),
      await render("--set", "operator.image=r.example.com/i")
    ]
    expect(own).toContain('image: "ghcr.io/braid-operator/braid:x"')
    expect(other).toContain(`image: "r.example.com/i:${version}"`)
    const shown = await must(helm, ["show", "chart", chart])
    for (const field of ["home:", "icon:", "sources:", "maintainers:", `image: ${named}`])
      expect(shown).toContain(field)
  })

  it("have commands that npm starts without a dependency, and that kubectl finds", async () => {
    const place = join(folder, "npm")
    mkdirSync(place)
    const archive = join(files, `braid-cli-${version}.tgz`)
    await must("npm", ["install", "--silent", "--no-save", "--offline", "--prefix", place, archive])
    expect(readdirSync(join(place, "node_modules")).filter((name) => !name.startsWith("."))).toEqual(["braid-cli"])
    for (const name of ["braid", "kubectl-braid"])
      expect(await must(join(place, "node_modules/.bin", name), ["--version"])).toContain(version)
  })

  it("name in the bill of materials each package of the bundle, and the base of both platforms", () => {
    const bill = JSON.parse(readFileSync(join(files, `braid-${version}.cdx.json`), "utf8")) as {
      readonly bomFormat: string
      readonly components: ReadonlyArray<{ readonly name: string; readonly purl: string }>
    }
    expect(bill.bomFormat).toBe("CycloneDX")
    const purls = bill.components.map(({ purl }) => purl)
    for (const start of ["pkg:npm/effect@", "pkg:npm/ws@", "pkg:generic/node@24."])
      expect(purls.some((purl) => purl.startsWith(start))).toBe(true)
    for (const architecture of ["amd64", "arm64"])
      expect(purls.some((purl) => purl.startsWith("pkg:deb/debian/libc6@") && purl.endsWith(architecture))).toBe(true)
    expect(purls.some((purl) => purl.startsWith("pkg:npm/vitest@"))).toBe(false)
  })

  it("have the image that the Containerfile makes, beside what comes of its base", async () => {
    const [workshop, built] = ["workshop", "built"].map((name) => join(folder, name)) as [string, string]
    await build(copy, { workshop, system: built })
    const { owners, ...described } = configOf(readContainerfile(copy).final)
    const { Env, Labels, ...others } = config as { readonly Env: ReadonlyArray<string>; readonly Labels: object }
    // Distroless images have these two variables too; the commit is no matter of a Containerfile.
    const variables = Object.fromEntries(Env.map((pair) => pair.split("=") as [string, string]))
    const { PATH, SSL_CERT_FILE, ...environment } = variables
    expect([PATH, SSL_CERT_FILE]).toEqual(["/nodejs/bin", "/etc/ssl/certs/ca-certificates.crt"])
    expect({ ...others, Env: environment, Labels }).toEqual({
      ...described,
      Labels: { ...described.Labels, "org.opencontainers.image.revision": expect.any(String) as unknown }
    })

    const program = join(archive, layers[2] ?? "")
    const listed = await must("tar", ["--list", "--verbose", "--numeric-owner", "--file", program])
    const entries = listed.trim().split("\n")
    const digestOf = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex")
    const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8)
    const treeOf = (root: string) => {
      const names = readdirSync(join(root, image.root), { recursive: true, encoding: "utf8" })
      return Object.fromEntries(
        ["", ...names].map((name) => {
          const path = join(root, image.root, name)
          return [name, [modeOf(path), statSync(path).isFile() ? digestOf(path) : ""]]
        })
      )
    }
    expect(entries.map((line) => line.split(/\s+/u)[1])).toEqual(entries.map(() => "0/0"))
    expect(owners).toEqual(["0:0"])
    expect(treeOf(system)).toEqual(treeOf(built))
  })

  it("have an image that starts, with each library that Node asks for, and no shell", async () => {
    expect(await run([...(config["Entrypoint"] as ReadonlyArray<string>), "--version"])).toEqual({
      status: 0,
      stdout: expect.stringContaining(version) as string,
      stderr: ""
    })
    const asked = `
      const { sharedObjects } = (process.report.excludeNetwork = true, process.report.getReport())
      console.log(JSON.stringify(sharedObjects.filter((path) => path.startsWith("/") && path !== process.execPath)))`
    const { stdout } = await run([image.node, "-e", asked])
    const held = readdirSync(join(system, "usr/lib/x86_64-linux-gnu")).map(
      (name) => `/usr/lib/x86_64-linux-gnu/${name}`
    )
    const loaded = (JSON.parse(stdout) as ReadonlyArray<string>).map((path) => path.replace(/^\/lib\//u, "/usr/lib/"))
    expect(held.toSorted()).toEqual(loaded.filter((path) => !path.startsWith("/lib64/")).toSorted())
    expect(readdirSync(system)).not.toContain("bin")
  })

  it("have an image that trusts Debian's authorities, and names its packages and their licences", () => {
    const read = (path: string): string => readFileSync(join(system, path), "utf8")
    expect(read("etc/ssl/certs/ca-certificates.crt").split("BEGIN CERTIFICATE").length).toBeGreaterThan(100)
    expect(read("etc/os-release")).toContain("ID=debian")
    const packages = readdirSync(join(system, "var/lib/dpkg/status.d"))
    expect(packages).toContain("libc6")
    for (const name of packages) {
      expect(read(`var/lib/dpkg/status.d/${name}`)).toContain(`Package: ${name}\n`)
      expect(read(`usr/share/doc/${name}/copyright`)).not.toBe("")
    }
  })

  it("keep the packages of a platform whose packages are not renewed", async () => {
    const pins = join(folder, "one.json")
    writeFileSync(pins, JSON.stringify({ amd64: { node: "", debian: [] }, arm64: "kept" }))
    const out = join(folder, "one.tar")
    const command = ["scripts/make-image.mjs", "--update", "--platform", "linux/amd64", "--pins", pins, "--out", out]
    await must(process.execPath, command)
    expect(JSON.parse(readFileSync(pins, "utf8"))).toMatchObject({
      amd64: { node: expect.stringMatching(/^sha512-/u) as string },
      arm64: "kept"
    })
  })

  it("have no image of other packages than the pinned, or of a platform that there is not", async () => {
    const pins = join(folder, "other.json")
    const text = readFileSync(join(copy, "scripts/image/base-packages.json"), "utf8")
    writeFileSync(pins, text.replace(/("name": "libc6",\s+"version": "[^"]*",\s+"sha256": ")[^"]*/u, "$1beef"))
    const refused = (...args: ReadonlyArray<string>) =>
      runProgram(process.execPath, ["scripts/make-image.mjs", "--out", join(folder, "none.tar"), ...args], {
        cwd: copy
      })
    expect(await refused("--platform", "linux/amd64", "--pins", pins)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/libc6 for amd64 has the digest [0-9a-f]{64}; beef is pinned/u) as string
    })
    expect(await refused("--platform", "linux/riscv64")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(
        "--platform linux/riscv64 is not known; write linux/amd64 or linux/arm64"
      ) as string
    })
    expect(readdirSync(folder)).not.toContain("none.tar")
  })
})
