import type { StoreErrorCode } from "../store-error.ts";

/** What crosses between the main thread and the worker of history. */

export type ToWorker =
  | { readonly type: "open"; readonly path: string }
  | {
      readonly type: "query";
      readonly id: number;
      readonly name: string;
      readonly params: unknown;
      /** Epoch ms of the asker's clock: what lies behind has not been seen. */
      readonly now: number;
      readonly timeoutMs: number;
      /** One number, set to 1 when the asker no longer wants the answer: a busy worker reads no messages. */
      readonly cancelled: SharedArrayBuffer;
    };

export type FromWorker =
  | { readonly type: "result"; readonly id: number; readonly value: unknown }
  | { readonly type: "failed"; readonly id: number; readonly failure: Failure };

export type Failure =
  | { readonly kind: "store"; readonly code: StoreErrorCode; readonly message: string; readonly fix: string }
  | { readonly kind: "timeout"; readonly message: string }
  | { readonly kind: "cancelled"; readonly message: string }
  | { readonly kind: "bug"; readonly message: string };
