/* retry_picture.c — refusals of pictures, files and sounds. Source: protocols/models.md §4. */
#include "retry_priv.h"

#include "runtime/model/wire_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* It never takes them, whichever it is; the last rows are about one, and about how many. */
static const struct
{
    const char *words, *member;
} KINDS[] = {
    {"input_audio*not supported|unknown variant `input_audio`|does not support audio|"
     "audio input is not|audio inputs are not|at most 0 audio",
     SMA_REFUSES_AUDIO},
    {"unknown variant `file`|unknown variant `document`|does not support pdf|"
     "does not support document|does not support file|file inputs are not supported|"
     "file input is not supported|pdf input is not supported|invalid value: 'file'|"
     "invalid value: 'input_file'",
     SMA_REFUSES_DOCUMENTS},
    {"unknown variant `image_url`|not support*image|not support*vision|not support*multimodal|"
     "not support*multi-modal|support image input|image*not supported|image*not available|"
     "image*not enabled|image*not allowed|image input is not|images are not|is not a multimodal|"
     "not a vision|vision is not|no vision|vision*disabled|image_url is only supported by|"
     "invalid value: 'image_url'|invalid value: 'input_image'|mmproj|unsupported*: "
     "image_url|multimodal*not supported|"
     "multimodal*not implemented|image*not implemented|vision*not implemented|"
     "cannot process image|unable to process*image|not include image|cannot include image|required "
     "for image input|at most 0 image|0 image(s)|no image|"
     "text-only|text only|only supports text|only text|image_url*not|unknown*image_url|"
     "image_url*unexpected|unexpected*image_url|cannot read*image|不支持图片|不支持图像|不支持视觉|"
     "不支持多模态|仅支持文本",
     SMA_REFUSES_IMAGES},
    {"failed to load image|failed to process image", ""}, /* this one, whatever the status */
    {"图片输入格式", SMA_REFUSES_DATA_URLS},
    {"too many images|number of images|at most*image|images per request|image*limit",
     SMA_PARTS_TOO_MANY},
};

static bool is_about_one(const struct sma_wire_error *error)
{
    return strncasecmp(error->code, "image_", 6) == 0 ||
           strncasecmp(error->type, "image_", 6) == 0 ||
           strncasecmp(error->code, "invalid_image", 13) == 0 ||
           sma_retry_has(error->said,
                         "image exceeds|max bytes per data-uri|could not process image|"
                         "could not process pdf|invalid image|unsupported image|image*unsupported|"
                         "failed to decode image|cannot identify image|image data|image_url|"
                         "image url|image.source|document.source|image dimensions|image*too large|"
                         "invalid base64|media_type|media type|pdf*password|pdf pages|invalid pdf|"
                         "file_data|图片");
}

bool sma_retry_judge_picture(const struct sma_failure *failure, bool is_broken,
                             struct sma_failure_verdict *verdict)
{
    const struct sma_wire_error *error = &failure->error;
    const char *member = atol(error->code) == 1210 ? SMA_REFUSES_DATA_URLS : NULL;
    bool is_one = sma_retry_has(error->said, "unsupported image|invalid image|image format|"
                                             "image type|image*too large|image exceeds");
    for (size_t i = 0; i < SMA_COUNT_OF(KINDS) && member == NULL; i++)
        if (sma_retry_has(error->said, KINDS[i].words) &&
            !(is_one && strcmp(KINDS[i].member, SMA_REFUSES_IMAGES) == 0))
            member = KINDS[i].member;
    if (member == NULL && (is_broken || !(is_one || is_about_one(error))))
        return false;
    verdict->retry = SMA_RETRY_NO;
    verdict->trouble = SMA_MODEL_FAILURE_PICTURE;
    snprintf(verdict->refused_member, sizeof verdict->refused_member, "%s",
             member == NULL ? "" : member);
    return true;
}
