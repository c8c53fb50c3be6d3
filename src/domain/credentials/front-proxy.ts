/**
 * Reads the user of a request from the headers of the API server that forwards it, and the settings that tell which API
 * server may do so.
 *
 * Not here: checking the API server's certificate (app/api/caller.ts), and what the user may do.
 */

import { Result, Schema } from "effect"

/** The user of a request, as the API server in front of us authenticated them. */
export interface Caller {
  readonly user: string
  readonly uid?: string
  readonly groups: ReadonlyArray<string>
  readonly extra: Readonly<Record<string, ReadonlyArray<string>>>
  /** `X-Forwarded-For` as that API server sent it. */
  readonly from?: string
}

/** Headers in which the front proxy says who the caller is, in lower case. */
export interface IdentityHeaders {
  /** The first value that is not empty counts. */
  readonly user: ReadonlyArray<string>
  readonly uid: ReadonlyArray<string>
  /** All values of all these headers count. */
  readonly groups: ReadonlyArray<string>
  /** The rest of a header's name after one of these is the key of an extra. */
  readonly extraPrefixes: ReadonlyArray<string>
}

/** The cluster's settings of its front proxy: ConfigMap `kube-system/extension-apiserver-authentication`. */
export interface FrontProxy {
  /** PEM of the CAs that sign the proxy's client certificate; more than one while they are being exchanged. */
  readonly certificateAuthority: string
  /** Common names that the proxy may have; empty: any. */
  readonly allowedNames: ReadonlyArray<string>
  readonly headers: IdentityHeaders
}

/** The headers of kube-apiserver's aggregation layer, unless it is configured otherwise. */
export const usualHeaders: IdentityHeaders = {
  user: ["x-remote-user"],
  uid: ["x-remote-uid"],
  groups: ["x-remote-group"],
  extraPrefixes: ["x-remote-extra-"]
}

const List = Schema.fromJsonString(Schema.Array(Schema.String))

/**
 * Reads the ConfigMap's data; the failure is a sentence that names the key. Nothing is taken for granted where a key
 * cannot be read: an unreadable list of names is not an empty one, which would let everybody in.
 */
export const readFrontProxy = (data: Readonly<Record<string, string>>): Result.Result<FrontProxy, string> =>
  Result.gen(function* () {
    const list = (key: string): Result.Result<ReadonlyArray<string>, string> => {
      const text = data[key] ?? ""
      if (text === "") return Result.succeed([])
      return Result.mapError(
        Schema.decodeUnknownResult(List)(text),
        () => `${key}: found ${JSON.stringify(text.slice(0, 100))}; it must be a JSON list of strings`
      )
    }
    const names = (key: string): Result.Result<ReadonlyArray<string>, string> =>
      Result.map(list(key), (found) => found.map((name) => name.toLowerCase()))
    const certificateAuthority = data["requestheader-client-ca-file"] ?? ""
    if (certificateAuthority === "") {
      return yield* Result.fail(
        "requestheader-client-ca-file: found nothing; it must be the PEM of the front proxy's CA (flag " +
          "--requestheader-client-ca-file of kube-apiserver)"
      )
    }
    const user = yield* names("requestheader-username-headers")
    if (user.length === 0)
      return yield* Result.fail(
        'requestheader-username-headers: found none; it must name a header, such as ["X-Remote-User"]'
      )
    return {
      certificateAuthority,
      allowedNames: yield* list("requestheader-allowed-names"),
      headers: {
        user,
        uid: yield* names("requestheader-uid-headers"),
        groups: yield* names("requestheader-group-headers"),
        extraPrefixes: yield* names("requestheader-extra-headers-prefix")
      }
    }
  })

/** Whether the front proxy may have a certificate's common name. */
export const isAllowedName = ({ allowedNames }: FrontProxy, commonName: string): boolean =>
  allowedNames.length === 0 || allowedNames.includes(commonName)

/**
 * Decodes the key of an extra, which is percent-encoded in a header's name. A key that is not is taken as it is
 * (k8s.io/apiserver, headerrequest).
 */
const decodeKey = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The identity that a request's headers tell; nothing if they name no user. Names of `headers` are in lower case. */
export const callerFrom = (
  headers: Readonly<Record<string, ReadonlyArray<string> | undefined>>,
  names: IdentityHeaders
): Caller | undefined => {
  const all = (wanted: ReadonlyArray<string>): ReadonlyArray<string> =>
    wanted.flatMap((name) => headers[name] ?? []).filter((value) => value !== "")
  const [user] = all(names.user)
  if (user === undefined) return undefined
  const [uid] = all(names.uid)
  const extra = new Map<string, ReadonlyArray<string>>()
  for (const [name, values] of Object.entries(headers)) {
    const prefix = names.extraPrefixes.find((candidate) => name.startsWith(candidate))
    if (prefix === undefined || values === undefined) continue
    const key = decodeKey(name.slice(prefix.length))
    extra.set(key, [...(extra.get(key) ?? []), ...values])
  }
  const from = all(["x-forwarded-for"]).join(", ")
  return {
    user,
    ...(uid === undefined ? {} : { uid }),
    groups: all(names.groups),
    extra: Object.fromEntries(extra),
    ...(from === "" ? {} : { from })
  }
}
