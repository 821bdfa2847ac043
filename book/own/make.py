"""What made sensors.csv and log.txt: nobody measured them, so that anybody may have them."""

import math
import random

draw = random.Random(0)

# 48 machines, each sound, worn or loose. A worn one hums in bursts: one row tells little, the rhythm tells.
with open("sensors.csv", "w", encoding="utf-8", newline="\n") as table:
    table.write("machine,sway,hum,heat,state\n")
    for machine in range(48):
        speed, state = draw.uniform(0.25, 0.4), ("sound", "worn", "loose")[machine % 3]
        burst = {"sound": 0.0, "worn": 1.0, "loose": 0.5}[state]
        for step in range(60):
            beat = math.sin(speed * step)
            sway = beat * (1.6 if state == "loose" and step % 7 < 2 else 1.0) + draw.gauss(0, 0.25)
            hum = burst * (beat > 0.6) + draw.gauss(0.5, 0.3)
            heat = 40 + 0.02 * step + draw.gauss(0, 1)
            table.write(f"{machine},{sway:.2f},{hum:.2f},{heat:.1f},{state}\n")

# A door that counts: the light is off when nobody is inside, and whoever knows that has kept count.
inside, events = 0, []
for _ in range(6000):
    events.append("enter" if inside == 0 or (inside < 4 and draw.random() < 0.5) else "leave")
    inside += 1 if events[-1] == "enter" else -1
    if inside == 0:
        events.append("dark")
with open("log.txt", "w", encoding="utf-8", newline="\n") as log:
    log.write("\n".join(" ".join(events[start : start + 12]) for start in range(0, len(events), 12)) + "\n")
