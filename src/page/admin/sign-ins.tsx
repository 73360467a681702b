import { type Signal, useSignal } from "@preact/signals";
import type { SignInRecord } from "../../domain/keys.ts";
import { remove } from "../api.ts";
import { may } from "../me.ts";
import { FormDialog, tell } from "../parts/dialog.tsx";
import { Figure, Rows } from "../parts/figure.tsx";
import { When } from "./keys.tsx";
import { admin } from "./words.ts";

const targetOf = ({ keyName, browser }: SignInRecord) => admin.on(keyName, browser ?? admin.unknownBrowser);

/** Browsers that are signed in: one's own, or everybody's for who may see them. */
export function SignIns({ changed }: { readonly changed: Signal<number> }) {
  const asked = useSignal<SignInRecord | null>(null);
  return (
    <>
      <Figure
        title={may("keys") ? admin.signIns : admin.yourSignIns}
        path="/api/signins"
        query={{ limit: "1000" }}
        version={changed.value}
      >
        {({ signins, total }) => (
          <Rows
            label={admin.signIns}
            rows={signins}
            total={total}
            columns={[
              { head: admin.key, cell: ({ keyName }) => <bdi>{keyName}</bdi> },
              { head: admin.browser, cell: ({ browser }) => browser ?? admin.unknownBrowser },
              { head: admin.role, wide: true, cell: ({ role }) => role },
              { head: admin.lastUsed, wide: true, cell: ({ lastUsedAt }) => <When at={lastUsedAt} isAge /> },
              { head: admin.ends, wide: true, cell: ({ expiresAt }) => <When at={expiresAt} /> },
              {
                head: admin.action,
                right: true,
                cell: (each) =>
                  each.current ? (
                    <span class="q">{admin.thisBrowser}</span>
                  ) : (
                    <button
                      class="ack"
                      type="button"
                      onClick={() => {
                        asked.value = each;
                      }}
                    >
                      {admin.end}
                      <span class="vh"> {targetOf(each)}</span>
                    </button>
                  ),
              },
            ]}
          />
        )}
      </Figure>
      {asked.value !== null && (
        <End
          of={asked.value}
          changed={changed}
          leave={() => {
            asked.value = null;
          }}
        />
      )}
    </>
  );
}

function End(props: {
  readonly of: SignInRecord;
  readonly changed: Signal<number>;
  readonly leave: () => void;
}) {
  const target = targetOf(props.of);
  const act = async () => {
    await remove(`/api/signins/${props.of.id}`);
    tell(admin.ended(target));
    props.changed.value++;
    return true;
  };
  return (
    <FormDialog
      title={`${admin.endThis(target)}?`}
      button={admin.endThis(target)}
      act={act}
      leave={props.leave}
    >
      <p>{admin.endMeans}</p>
    </FormDialog>
  );
}
