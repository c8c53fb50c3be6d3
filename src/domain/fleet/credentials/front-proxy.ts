/**
 * Reads the user of a request from the headers of the API server that forwards it, and the settings that say which API
 * server may do so.
 *
 * Not here: checking the API server's certificate (app/api/caller.ts), and what the user may do.
 */

import { Result, Schema } from "effect"
import { headerText, shownHeaderText } from "./header-text.ts"

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
export const defaultHeaders: IdentityHeaders = {
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

/** Why the headers of a request name no caller. */
export type NoCaller =
  | { readonly _tag: "NoUser" }
  /** `header`: its name, in lower case. */
  | { readonly _tag: "NotUtf8"; readonly header: string }

/**
 * Decodes the key of an extra, which is percent-encoded in a header's name. A key that is not is taken as it is
 * (k8s.io/apiserver, headerrequest); `undefined` if it encodes what is not UTF-8.
 */
const decodeKey = (text: string): string | undefined => {
  if (/%(?![0-9a-f]{2})/i.test(text)) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/**
 * The identity in a request's headers, as Node read them: each character is a byte. Names of `headers` are in lower
 * case. Bytes that are not UTF-8 give no identity: with other bytes in their place they would name another user.
 */
export const callerFrom = (
  headers: Readonly<Record<string, ReadonlyArray<string> | undefined>>,
  names: IdentityHeaders
): Result.Result<Caller, NoCaller> =>
  Result.gen(function* () {
    const texts = (header: string): Result.Result<ReadonlyArray<string>, NoCaller> => {
      const values = (headers[header] ?? []).map(headerText)
      const read = values.filter((value) => value !== undefined)
      return read.length === values.length ? Result.succeed(read) : Result.fail({ _tag: "NotUtf8", header })
    }
    const all = (wanted: ReadonlyArray<string>): Result.Result<ReadonlyArray<string>, NoCaller> =>
      Result.map(Result.all(wanted.map(texts)), (found) => found.flat().filter((value) => value !== ""))
    const [user] = yield* all(names.user)
    if (user === undefined) return yield* Result.fail<NoCaller>({ _tag: "NoUser" })
    const [uid] = yield* all(names.uid)
    const extra = new Map<string, Array<string>>()
    for (const header of Object.keys(headers)) {
      const prefix = names.extraPrefixes.find((candidate) => header.startsWith(candidate))
      if (prefix === undefined || headers[header] === undefined) continue
      const key = decodeKey(header.slice(prefix.length))
      if (key === undefined) return yield* Result.fail<NoCaller>({ _tag: "NotUtf8", header })
      extra.set(key, [...(extra.get(key) ?? []), ...(yield* texts(header))])
    }
    const from = shownHeaderText((headers["x-forwarded-for"] ?? []).filter((value) => value !== "").join(", "))
    return {
      user,
      ...(uid === undefined ? {} : { uid }),
      groups: yield* all(names.groups),
      extra: Object.fromEntries(extra),
      ...(from === "" ? {} : { from })
    }
  })
