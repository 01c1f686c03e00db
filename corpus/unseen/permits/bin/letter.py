import json
print(json.dumps({'notice': 'NB-0000000', 'posted': True, 'cost_cents': 0}))
