import json, sys
wagons = json.load(sys.stdin)
kg = sum(w["tare_kg"] + w["load_kg"] for w in wagons)
print(json.dumps({
    "gross_t": round(kg / 1000, 1),
    "length_m": round(sum(w["length_m"] for w in wagons), 1),
    "brake_percent": 100 * sum(w["brake"] == "ok" for w in wagons) // max(1, len(wagons)),
    "wagons": len(wagons),
}))
