// @ts-check
/**
 * Packs file trees as an archive of container images, as the OCI's image layout 1.1 has it, which containerd, Podman
 * and Docker load. The same content gives the same bytes. Fetches nothing.
 */

import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"
import { createTar } from "nanotar"

/**
 * A file of a layer, or a folder if it has no `data`. `path`: relative, at most 99 bytes. `mode`: as `0o755`.
 *
 * @typedef {{ readonly path: string; readonly mode: number; readonly data?: Uint8Array }} Entry
 *
 * @typedef {{ readonly comment: string; readonly entries: ReadonlyArray<Entry> }} Layer
 *
 * @typedef {{
 *   readonly architecture: string
 *   readonly layers: ReadonlyArray<Layer>
 *   readonly config: Readonly<Record<string, unknown>>
 * }} PlatformImage
 *   What one platform runs; `config` as `ENTRYPOINT` and its like in the OCI's image configuration.
 *
 * @typedef {{ readonly mediaType: string; readonly digest: string; readonly size: number }} Descriptor
 */

const media = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip"
}

/** @param {Uint8Array} bytes */
const digestOf = (bytes) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`

/** @param {string} digest */
const blobPath = (digest) => `blobs/${digest.replace(":", "/")}`

/** Every folder above a path, the highest first. @param {string} path */
const foldersAbove = (path) => {
  const parts = path.split("/").slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"))
}

/**
 * A tar of entries sorted by path, owned by root, with each folder before its files. Throws if a path is too long for
 * the header, where the rest would be lost.
 *
 * @param {ReadonlyArray<Entry>} entries
 */
const tarOf = (entries) => {
  const folders = new Map(
    entries
      .flatMap(({ path }) => foldersAbove(path))
      .map((path) => [path, /** @type {Entry} */ ({ path, mode: 0o755 })])
  )
  const all = [...new Map([...folders, ...entries.map((entry) => /** @type {const} */ ([entry.path, entry]))]).values()]
  const long = all.find(({ path }) => Buffer.byteLength(path) > 98)
  if (long !== undefined) throw new Error(`${long.path} is longer than 98 bytes, which a layer's header cannot hold`)
  const items = all
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
    .map(({ path, mode, data }) => ({
      name: data === undefined ? `${path}/` : path,
      ...(data === undefined ? {} : { data }),
      // One time for all: a layer that does not change is not pulled again for another version.
      attrs: { mode: mode.toString(8), uid: 0, gid: 0, mtime: 0 }
    }))
  // Two blocks of zeros end an archive; the library leaves them out where the rest fills its last record.
  return Buffer.concat([createTar(items), Buffer.alloc(1_024)])
}

/**
 * The archive of one image for several platforms. `name`: with its tag, under which the archive is loaded. `created`:
 * seconds since epoch.
 *
 * @param {{
 *   readonly name: string
 *   readonly created: number
 *   readonly labels: Readonly<Record<string, string>>
 *   readonly platforms: ReadonlyArray<PlatformImage>
 * }} image
 * @returns {{ readonly archive: Buffer; readonly digest: string }} `digest`: of the index, as a registry names it
 */
export const ociArchive = ({ created, labels, name, platforms }) => {
  const time = new Date(created * 1_000).toISOString().replace(".000Z", "Z")
  /** @type {Map<string, Uint8Array>} */
  const blobs = new Map()
  /** @param {string} mediaType @param {Uint8Array} bytes @returns {Descriptor} */
  const add = (mediaType, bytes) => {
    const digest = digestOf(bytes)
    blobs.set(digest, bytes)
    return { mediaType, digest, size: bytes.length }
  }
  /** @param {string} mediaType @param {unknown} value */
  const addJson = (mediaType, value) => add(mediaType, Buffer.from(JSON.stringify(value)))

  const manifests = platforms.map(({ architecture, config, layers }) => {
    const tars = layers.map(({ entries }) => tarOf(entries))
    const descriptors = tars.map((tar) => add(media.layer, gzipSync(tar)))
    const described = addJson(media.config, {
      created: time,
      architecture,
      os: "linux",
      config: { ...config, Labels: labels },
      rootfs: { type: "layers", diff_ids: tars.map(digestOf) },
      history: layers.map(({ comment }) => ({ created: time, comment }))
    })
    const manifest = { schemaVersion: 2, mediaType: media.manifest, config: described, layers: descriptors }
    const annotations = { ...labels }
    return {
      described,
      descriptors,
      listed: { ...addJson(media.manifest, { ...manifest, annotations }), platform: { os: "linux", architecture } }
    }
  })
  const index = addJson(media.index, {
    schemaVersion: 2,
    mediaType: media.index,
    manifests: manifests.map(({ listed }) => listed),
    annotations: labels
  })
  const top = {
    schemaVersion: 2,
    mediaType: media.index,
    manifests: [
      {
        ...index,
        annotations: {
          "io.containerd.image.name": name,
          "org.opencontainers.image.ref.name": name.slice(name.lastIndexOf(":") + 1)
        }
      }
    ]
  }
  // Docker without containerd's store looks for this file, and takes one platform.
  const forDocker = manifests.slice(0, 1).map(({ described, descriptors }) => ({
    Config: blobPath(described.digest),
    RepoTags: [name],
    Layers: descriptors.map(({ digest }) => blobPath(digest))
  }))
  const files = [
    { path: "oci-layout", mode: 0o644, data: Buffer.from(JSON.stringify({ imageLayoutVersion: "1.0.0" })) },
    { path: "index.json", mode: 0o644, data: Buffer.from(JSON.stringify(top)) },
    { path: "manifest.json", mode: 0o644, data: Buffer.from(JSON.stringify(forDocker)) },
    ...Array.from(blobs, ([digest, data]) => ({ path: blobPath(digest), mode: 0o644, data }))
  ]
  return { archive: tarOf(files), digest: index.digest }
}
