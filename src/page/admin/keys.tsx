import { useState } from "preact/hooks";
import type { CreatedKey, Key, SignInRecord } from "../../domain/keys.ts";
import { ROLES } from "../../domain/words.ts";
import { may, me, post } from "../api.ts";
import { duration, moment } from "../format.ts";
import { now } from "../live/live.ts";
import { Copy } from "../parts/answer.tsx";
import { FormDialog } from "../parts/dialog.tsx";
import { State } from "../parts/marks.tsx";
import type { Column } from "../parts/rows.tsx";
import { ActionTable, ConfirmKey, changed, EndDialog } from "./action-table.tsx";
import { keyOf } from "./forms.ts";

const MARKS = { active: "ok", expired: "stale", revoked: "unknown" } as const;
const ROLE_WORDS = {
  calendar: "calendar: only the expiry calendar",
  viewer: "viewer: sees everything, changes nothing",
  operator: "operator: acknowledges, polls, runs harmless commands",
  admin: "admin: everything",
};
const ORDER = Object.keys(MARKS);
/** Parameters that request all keys: the API's default limit is 100, and no installation has 1,000 keys. */
const ALL = { limit: "1000" };

export function Keys() {
  const [isMaking, setMaking] = useState(false);
  return (
    <>
      <ActionTable
        title="Keys"
        path="/api/keys"
        query={ALL}
        aside={
          <button class="btn s end" type="button" onClick={() => setMaking(true)}>
            New key
          </button>
        }
        rows={({ keys }) => [...keys].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state))}
        columns={[
          { head: "Name", by: ({ name }) => name, cell: ({ name }) => <bdi>{name}</bdi> },
          { head: "Role", by: roleOf },
          {
            head: "State",
            wide: true,
            by: ({ state }) => state,
            cell: ({ state }) => <State is={MARKS[state]}>{state}</State>,
          },
          when<Key>("Last used", ({ lastUsedAt }) => lastUsedAt, true),
          when<Key>("Expires", ({ expiresAt }) => expiresAt),
          when<Key>("Created", ({ createdAt }) => createdAt),
        ]}
        word="Revoke"
        target={({ name }) => name}
        instead={({ state }) => state === "revoked" && state}
        dialog={({ id, name }, leave) => (
          <EndDialog
            path={`/api/keys/${id}`}
            does={`Revoke ${name}`}
            done={`${name} is revoked.`}
            means="Programs and browsers that use this key are refused within 5 seconds. This cannot be undone."
            leave={leave}
          >
            {me.value?.keyId === id && (
              <p class="n-warn">You signed in with this key and will be signed out.</p>
            )}
            <ConfirmKey />
          </EndDialog>
        )}
      />
      {isMaking && <MakeKey leave={() => setMaking(false)} />}
    </>
  );
}

const roleOf = ({ role, anonymize }: Key) => (anonymize ? `${role}, pseudonyms` : role);

const browserOf = (browser: string | null) => browser ?? "an unknown browser";
const targetOf = ({ keyName, browser }: SignInRecord) => `${keyName}, ${browserOf(browser)}`;

export function SignIns() {
  return (
    <ActionTable
      title={may("keys") ? "Sign-ins" : "Your sign-ins"}
      path="/api/signins"
      query={ALL}
      rows={({ signins }) => signins}
      columns={[
        { head: "Key", by: ({ keyName }) => keyName, cell: ({ keyName }) => <bdi>{keyName}</bdi> },
        { head: "Browser", by: ({ browser }) => browserOf(browser) },
        { head: "Role", wide: true, by: ({ role }) => role },
        when<SignInRecord>("Last used", ({ lastUsedAt }) => lastUsedAt, true),
        when<SignInRecord>("Ends", ({ expiresAt }) => expiresAt),
      ]}
      word="End"
      target={targetOf}
      instead={({ current }) => current && "this browser"}
      dialog={(signIn, leave) => {
        const target = targetOf(signIn);
        return (
          <EndDialog
            path={`/api/signins/${signIn.id}`}
            does={`End the sign-in of ${target}`}
            done={`The sign-in of ${target} has ended.`}
            means="The browser is asked for a key within 5 seconds."
            leave={leave}
          />
        );
      }}
    />
  );
}

/** Returns a column of times or ages, which shows "never" for null. */
const when = <T,>(head: string, at: (row: T) => string | null, isAge = false): Column<T> => ({
  head,
  wide: true,
  by: at,
  cell(row) {
    const time = at(row);
    if (time === null) return <span class="q">never</span>;
    const ms = Date.parse(time);
    return isAge ? `${duration(now.value - ms)} ago` : moment(ms, now.value);
  },
});

function MakeKey({ leave }: Readonly<{ leave: () => void }>) {
  const [made, setMade] = useState<CreatedKey | null>(null);
  const [name, setName] = useState("");
  const [role, setRole] = useState("viewer");
  const act = async (form: FormData) => {
    setMade(await post("/api/keys", keyOf(form)));
    changed.value++;
    return false;
  };
  if (made !== null) {
    const { key, name: of } = made;
    return (
      <FormDialog key="made" title={`The key ${of}`} button={null} leave={leave}>
        <p>The key is shown only now and is not stored: copy it.</p>
        <code class="secret">{key}</code>
        <Copy text={() => key} label="Copy the key" />
      </FormDialog>
    );
  }
  return (
    <FormDialog
      title="New key"
      button={name.trim() === "" ? "Create a key" : `Create the key ${name.trim()}`}
      act={act}
      leave={leave}
    >
      <label>
        Name
        <input
          name="name"
          required
          maxLength={100}
          autocomplete="off"
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <label>
        Role
        <select name="role" value={role} onChange={({ currentTarget }) => setRole(currentTarget.value)}>
          {ROLES.filter((each) => each !== "site").map((each) => (
            <option key={each} value={each}>
              {ROLE_WORDS[each]}
            </option>
          ))}
        </select>
      </label>
      {role === "viewer" && (
        <label class="tick">
          <input type="checkbox" name="pseudonyms" />
          Sees pseudonyms in place of people and hosts
        </label>
      )}
      <label>
        Expires at the end of (optional)
        <input type="date" name="expires" />
      </label>
      <ConfirmKey />
    </FormDialog>
  );
}
