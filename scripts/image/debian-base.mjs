// @ts-check
/**
 * The base of the operator's image: exactly the files of Debian that Node needs, from packages of one version each.
 * Versions and digests stand in base-packages.json.
 *
 * Not here: Node itself (node-program.mjs).
 */

import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { basename, join } from "node:path"
import { makeApt } from "../debian-suite.mjs"

/**
 * @import {Run} from "../debian-suite.mjs"
 * @import {Entry} from "./oci-archive.mjs"
 * @typedef {{ readonly name: string; readonly version: string; readonly sha256: string }} Pinned
 */

/** Debian's release of the base; distroless' image for Node has the same. */
const suite = "trixie"

/** Where Debian has libraries, and the path of the loader that a program names. */
const places = {
  amd64: { libraries: "usr/lib/x86_64-linux-gnu", loader: "lib64/ld-linux-x86-64.so.2" },
  arm64: { libraries: "usr/lib/aarch64-linux-gnu", loader: "lib/ld-linux-aarch64.so.1" }
}

/** @typedef {keyof typeof places} Architecture */

export const architectures = /** @type {ReadonlyArray<Architecture>} */ (["amd64", "arm64"])

/**
 * The packages, each with the libraries that are taken of it. Of all packages the licence and the description are
 * taken, by which scanners find known defects.
 *
 * @type {ReadonlyArray<{ readonly package: string; readonly libraries: ReadonlyArray<string> }>}
 */
const packages = [
  // Names the release to scanners.
  { package: "base-files", libraries: [] },
  { package: "ca-certificates", libraries: [] },
  // Holds the licence of the two libraries of GCC.
  { package: "gcc-14-base", libraries: [] },
  {
    package: "libc6",
    libraries: ["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0"]
  },
  { package: "libgcc-s1", libraries: ["libgcc_s.so.1"] },
  { package: "libstdc++6", libraries: ["libstdc++.so.6"] }
]

const users = `root:x:0:0:root:/root:/sbin/nologin
nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin
`
const groups = "root:x:0:\nnonroot:x:65532:\nnobody:x:65534:\n"

/** @param {string} file */
const sha256Of = (file) => createHash("sha256").update(readFileSync(file)).digest("hex")

/**
 * Downloads the packages of one architecture into a folder: those of the pins, or the newest without pins. Throws if a
 * pinned version is no longer in Debian's archive, or a package has another digest than its pin.
 *
 * @param {Run} run @param {string} folder @param {Architecture} architecture
 * @param {ReadonlyArray<Pinned> | undefined} pins
 * @returns {Promise<ReadonlyArray<Pinned & { readonly file: string }>>}
 */
const download = async (run, folder, architecture, pins) => {
  const apt = join(folder, "apt")
  const env = await makeApt(run, suite, apt, { architecture, hasSecurity: true })
  await run(suite, ["apt-get", "update", "-qq"], { env })
  const names = packages.map((wanted) => {
    const pin = pins?.find(({ name }) => name === wanted.package)
    if (pins !== undefined && pin === undefined)
      throw new Error(
        `the pins have no version of ${wanted.package} for ${architecture}; run \`npm run image -- --update\``
      )
    return pin === undefined ? wanted.package : `${pin.name}=${pin.version}`
  })
  const debs = join(folder, "packages")
  mkdirSync(debs)
  await run(`packages of ${suite} for ${architecture}`, ["apt-get", "download", "-qq", ...names], { cwd: debs, env })
  const files = readdirSync(debs).map((name) => join(debs, name))
  const found = await Promise.all(
    files.map(async (file) => {
      const [name = "", version = ""] = (
        await run(basename(file), ["dpkg-deb", "--show", "--showformat=${Package} ${Version}", file])
      ).split(" ")
      return { name, version, sha256: sha256Of(file), file }
    })
  )
  for (const { name, sha256 } of found) {
    const pinned = pins?.find((pin) => pin.name === name)?.sha256
    if (pinned !== undefined && pinned !== sha256)
      throw new Error(
        `${name} for ${architecture} has the digest ${sha256}; ${pinned} is pinned. Debian never changes a version: ` +
          "find out what stands between this machine and its mirror"
      )
  }
  return found.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

/** The bundle of all authorities that Mozilla trusts. @param {string} unpacked */
const authoritiesOf = (unpacked) => {
  const folder = join(unpacked, "usr/share/ca-certificates/mozilla")
  return readdirSync(folder)
    .filter((name) => name.endsWith(".crt"))
    .toSorted()
    .map((name) => readFileSync(join(folder, name), "utf8").trimEnd())
    .join("\n")
}

/** @param {string} path @param {Uint8Array | string} data @returns {Entry} */
const fileOf = (path, data) => ({ path, mode: 0o644, data: typeof data === "string" ? Buffer.from(data) : data })

/**
 * The files that the image has, from the unpacked packages. Each library is a file under the name that programs ask
 * for, so that there are no links.
 *
 * @param {string} unpacked @param {Architecture} architecture @returns {ReadonlyArray<Entry>}
 */
const filesOf = (unpacked, architecture) => {
  const { libraries, loader } = places[architecture]
  /** @param {string} path */
  const read = (path) => readFileSync(realpathSync(join(unpacked, path)))
  /** @param {string} name @returns {Entry} */
  const library = (name) => ({ path: `${libraries}/${name}`, mode: 0o755, data: read(`${libraries}/${name}`) })
  return [
    ...packages.flatMap((wanted) => wanted.libraries.map(library)),
    { path: loader, mode: 0o755, data: read(`${libraries}/${basename(loader)}`) },
    fileOf("etc/ssl/certs/ca-certificates.crt", `${authoritiesOf(unpacked)}\n`),
    fileOf("etc/os-release", read("usr/lib/os-release")),
    fileOf("etc/debian_version", read("etc/debian_version")),
    fileOf("etc/passwd", users),
    fileOf("etc/group", groups),
    fileOf("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    { path: "tmp", mode: 0o1777 }
  ]
}

/**
 * Makes the base for one architecture, and the pins of the packages that it was made of. Needs Debian's apt.
 *
 * @param {Run} run @param {string} folder for what is downloaded; it must exist @param {Architecture} architecture
 * @param {ReadonlyArray<Pinned> | undefined} pins @returns {Promise<{ entries: ReadonlyArray<Entry>; pins:
 *   ReadonlyArray<Pinned> }>}
 */
export const debianBase = async (run, folder, architecture, pins) => {
  const place = mkdtempSync(join(folder, `${architecture}-`))
  try {
    const found = await download(run, place, architecture, pins)
    const unpacked = join(place, "root")
    /** @type {Entry[]} */
    const described = []
    for (const { file, name } of found) {
      await run(name, ["dpkg-deb", "--extract", file, unpacked])
      const control = await run(name, ["dpkg-deb", "--field", file])
      described.push(
        fileOf(`var/lib/dpkg/status.d/${name}`, `${control.trimEnd()}\n`),
        fileOf(
          `usr/share/doc/${name}/copyright`,
          readFileSync(realpathSync(join(unpacked, `usr/share/doc/${name}/copyright`)))
        )
      )
    }
    return {
      entries: [...filesOf(unpacked, architecture), ...described],
      pins: found.map(({ name, sha256, version }) => ({ name, version, sha256 }))
    }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}
