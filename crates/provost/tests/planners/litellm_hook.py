"""Chooses the entry that answers: one for each example and kind of request. Thinks nothing up."""

import json
import pathlib

from litellm.integrations.custom_logger import CustomLogger


class Hook(CustomLogger):
    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
        asked = json.dumps(data.get("messages") or data.get("contents"))
        example = "refund" if "Refund 2000 cents" in asked else "incident"
        if "which was refused" in asked:
            entry = example + "-repair"
        elif "Propose a revision" in asked:
            entry = example + "-revision"
        elif "Propose a plan" in asked:
            entry = example + "-plan"
        else:
            entry = "doctor"
        with pathlib.Path("ledger").open("a") as ledger:
            ledger.write(f"{call_type} {entry}\n")
        data["model"] = entry
        return data


hook = Hook()
